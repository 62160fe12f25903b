"""What is said when a service cannot be set up, or is replaced by a default.

What belongs here: the error of a missing or wrong setting, and saying a remark once per run. What
does not: which setting is missing (web.py, reasoning.py).
"""

from __future__ import annotations

import threading
from collections import OrderedDict

_KEPT_RUNS = 1_000


class SetupError(Exception):
    """A service was asked for and cannot be set up. A sentence that names the setting."""


class SaidOnce:
    """Remembers what was said in which run, so that each of its steps need not say it again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._said: OrderedDict[str, set[str]] = OrderedDict()

    def is_new(self, run_id: str, words: str) -> bool:
        """Tell whether these words are new in this run, and remember them."""
        with self._lock:
            said = self._said.setdefault(run_id, set())
            if len(self._said) > _KEPT_RUNS:
                self._said.popitem(last=False)
            if words in said:
                return False
            said.add(words)
            return True
