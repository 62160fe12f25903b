"""Reads SQL from the `.sql` files next to a module."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources

_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)


@cache
def statements(package: str, file: str, fill: Callable[[str], str] = str) -> Mapping[str, str]:
    """Return the statements under each line `-- name: NAME`; `fill` replaces placeholders first."""
    text = fill((resources.files(package) / file).read_text(encoding="utf-8"))
    _, *parts = _NAME.split(text)
    return {name: sql.strip() for name, sql in zip(parts[::2], parts[1::2], strict=True)}
