"""Recomputes the predecessor's published evaluation from its published outputs.

Equal numbers show that this project's matching and metrics measure the same thing.
"""
