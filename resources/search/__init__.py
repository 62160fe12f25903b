"""Clients of search providers and of archives of fact checks."""
