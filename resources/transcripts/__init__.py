"""Transcripts from files, recordings, podcasts and YouTube."""
