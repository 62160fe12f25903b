"""The local archive: stored pages and recorded searches, searchable without a network."""
