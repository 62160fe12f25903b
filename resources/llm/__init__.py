"""Clients of language models: typed requests, typed answers with their actual usage."""
