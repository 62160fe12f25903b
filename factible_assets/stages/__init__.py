"""The domain: what a fact-check does, as pure functions and small classes over records.

Nothing here imports Dagster, DuckDB or an HTTP client. Outside help arrives through ports.py.
"""
