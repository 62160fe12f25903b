"""The metrics: formula, source, and the case in which each is undefined."""
