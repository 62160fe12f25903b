"""The domain: the stages of a fact-check as functions over records; services come by ports.py."""
