"""Clients for pictures: reverse search, detectors, frames and metadata."""
