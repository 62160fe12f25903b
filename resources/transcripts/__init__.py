"""Transcript clients: files and video platforms."""
