"""Reliability ratings and ages of domains."""
