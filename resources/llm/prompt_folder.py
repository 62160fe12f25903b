"""Prompts and answers kept for audit: a file for each request, for so many days.

What belongs here: writing them and removing old ones. What does not: whether that is wanted (a
setting), what a request costs (its record has the same id).
"""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from resources.llm.base import ModelCall
from resources.llm.prompt import Message

_log = logging.getLogger(__name__)


class PromptFolder:
    """A folder with one folder a day, for this user alone. Keeping for 0 days keeps nothing."""

    def __init__(self, path: Path, days: float = 0) -> None:
        """Say where, and for how long."""
        self._path = path
        self._days = days

    def keep(self, call: ModelCall, messages: Sequence[Message], answer: str | None) -> None:
        """Write down what was asked and answered, as REQUEST_ID.json. Call it off the event loop.

        An answer that was paid for is not lost because the disk is full: that is logged.
        """
        if not self._days:
            return
        try:
            self._write(call, messages, answer)
        except OSError as error:
            _log.warning("A prompt could not be kept in %s: %s.", self._path, error.strerror)

    def _write(self, call: ModelCall, messages: Sequence[Message], answer: str | None) -> None:
        now = datetime.now(UTC)
        folder = self._path / now.date().isoformat()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        content = {
            "request_id": call.request_id,
            "asked_at": now.isoformat(),
            "provider": call.provider,
            "model": call.model,
            "messages": [{"role": each.role, "content": each.content} for each in messages],
            "answer": answer,
        }
        file = folder / f"{call.request_id}.json"
        file.touch(mode=0o600)
        file.write_text(json.dumps(content, ensure_ascii=False, indent=1), encoding="utf-8")

    def trim(self) -> int:
        """Remove the days that are over; return how many. Without a wish to keep, all of them."""
        if not self._path.is_dir():
            return 0
        oldest = (datetime.now(UTC) - timedelta(days=self._days)).date()
        old = [each for each in self._path.iterdir() if _is_before(each, oldest, self._days)]
        for each in old:
            shutil.rmtree(each, ignore_errors=True)
        return len(old)


def _is_before(folder: Path, oldest: date, days: float) -> bool:
    try:
        day = date.fromisoformat(folder.name)
    except ValueError:
        return False
    return day < oldest or not days
