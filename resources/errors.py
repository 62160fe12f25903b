"""The error for a setting, key, file or address that a user has to correct, and a remedy."""

from __future__ import annotations

from importlib.metadata import requires


class SetupError(Exception):
    """The message names the setting or file, and the remedy."""


def install_command(extra: str) -> str:
    """Return the pip command for the packages of an extra; no index has factible-assets itself."""
    needs = (need.replace('"', "'").partition(";") for need in requires("factible-assets") or ())
    packages = [f"'{name.strip()}'" for name, _, when in needs if f"extra == '{extra}'" in when]
    return f"pip install {' '.join(packages)}"
