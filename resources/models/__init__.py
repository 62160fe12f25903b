"""Open models that are fetched when a person asks for them, and found by whoever loads them.

Nothing is imported here, so that finding a model loads no HTTP client: `model_path` is in
resources.models.installed.
"""
