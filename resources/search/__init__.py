"""Clients of search providers."""
