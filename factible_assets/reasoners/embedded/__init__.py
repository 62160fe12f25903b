"""The embedded engine: four judgements without a key, a server or a download."""
