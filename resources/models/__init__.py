"""Open models: the manifest, and downloads on request."""
