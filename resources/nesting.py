"""Where a file is nested too deeply to be read.

What belongs here: finding the line, for whoever had to give up on a file. What does not: reading
the values.
"""

from __future__ import annotations

import re

import yaml

MOST_LEVELS = 40
_JSON_MARKS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]')


def deepest_line(text: str) -> int | None:
    """Return the line, counted from 1, where YAML first has more levels than anybody needs."""
    depth = 0
    # Events are not recursive, unlike everything that is built from them.
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MOST_LEVELS:
            return event.start_mark.line + 1 if event.start_mark else None
    return None


def deepest_json_line(text: str) -> int | None:
    """Do the same for JSON."""
    depth = 0
    for mark in _JSON_MARKS.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(mark[0], 0)
        if depth > MOST_LEVELS:
            return text.count("\n", 0, mark.start()) + 1
    return None
