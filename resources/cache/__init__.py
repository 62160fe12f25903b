"""Answers kept on disk between runs and processes: searches, pages, model calls, ages, vectors."""

from resources.cache.store import KINDS, CachePolicy, DiskCache, Kind, KindInfo

__all__ = ["KINDS", "CachePolicy", "DiskCache", "Kind", "KindInfo"]
