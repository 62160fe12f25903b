"""Evaluation: how good the pipeline's answers are, in figures that say what they rest on.

What belongs here: matching claims to annotations, metrics, intervals, comparing two runs, and the
recomputation of published results. What does not: Dagster, DuckDB, HTTP, and what is done when a
figure is low (checks).
"""
