"""Clients for the outside world. They know nothing of claims, evidence or verdicts."""
