"""Runs the pipeline with many settings over one corpus, and compares the results."""
