"""The embedded engine: claims, queries and verdicts without a key, a server or a download."""
