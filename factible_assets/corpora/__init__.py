"""Corpora: which videos there are, and what is known of them. Data lives in `corpora/*.yaml`."""
