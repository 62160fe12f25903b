"""Fetches pages and extracts their text."""
