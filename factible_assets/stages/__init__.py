"""The domain: the stages of a fact-check as functions over records; ports.py names the services."""
