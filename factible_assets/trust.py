"""The user's word for what a file in the working folder says, given once, as direnv's `allow` is.

What belongs here: remembering what was allowed, by digest, in the user's own configuration folder.
What does not: which settings need it (settings.py), the command that gives it (cli/trust.py).

Whoever unpacks a folder that somebody else made has agreed to nothing that stands in it.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path


def is_trusted(file: Path, content: str) -> bool:
    """Tell whether the user has allowed this content of this file."""
    try:
        return _digest(file, content) in _store().read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError):
        return False


def trust(file: Path, content: str) -> None:
    """Remember that the user has allowed this content of this file."""
    if is_trusted(file, content):
        return
    store = _store()
    store.parent.mkdir(parents=True, exist_ok=True)
    with store.open("a", encoding="utf-8") as allowed:
        allowed.write(f"{_digest(file, content)}\n")


def _store() -> Path:
    folder = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(folder) / "factible" / "trusted"


def _digest(file: Path, content: str) -> str:
    return hashlib.sha256(f"{file.resolve()}\0{content}".encode("utf-8", "replace")).hexdigest()
