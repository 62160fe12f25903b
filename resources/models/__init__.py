"""Open models that are fetched when a person asks for them, and found by whoever loads them."""
