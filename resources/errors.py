"""The error for a setting, key, file or address that a user has to correct."""

from __future__ import annotations


class SetupError(Exception):
    """The message names the setting or file, and the remedy."""
