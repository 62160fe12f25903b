"""Measures the quality of the pipeline's answers against annotations and with a judge."""
