"""Answers kept on disk between runs and processes: searches, pages, model calls, ages, vectors."""
