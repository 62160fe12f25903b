"""Fits prompts into a context window, and stores prompts and answers for audit.

The estimate of tokens learns from the usage that servers report.
"""

from __future__ import annotations

import json
import logging
import shutil
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TypeAlias

from resources.llm.base import ModelCall, Part

_log = logging.getLogger(__name__)

TRIM_MARK = " […]"
"""Marks a cut, so that the model knows that the text continues."""
_FIRST_GUESS = 3.0
"""Bytes per token until a server counts a prompt: fewer than prose has in most languages."""
_REMEMBERED = 64  # Prompts whose ratio of bytes to tokens is known.
_LEAST_COUNTED = 400  # Bytes. In shorter prompts the chat template distorts the ratio.
_MARGIN = 0.95
"""Share of the smallest ratio that the estimate uses: the next prompt may have more tokens."""
_MESSAGE_TOKENS = 8  # A generous estimate of the chat template's tokens per message.
_LEAST_ROOM = 32  # Tokens. A shorter rest of a part is useless.

Message: TypeAlias = Mapping[str, str]
"""One turn: its role (system, user, assistant) and content, as both protocols word it."""


class TokenScale:
    """Estimates the tokens of a text by the smallest recent ratio of bytes to tokens.

    The estimate errs on the side of too many tokens.
    """

    def __init__(self) -> None:
        self._ratios: deque[float] = deque(maxlen=_REMEMBERED)

    @property
    def bytes_per_token(self) -> float:
        return max(1.0, min(self._ratios) * _MARGIN) if self._ratios else _FIRST_GUESS

    def learn(self, size: int, tokens: int) -> None:
        """Learn from a server's count of the tokens of a prompt; `size` is in UTF-8 bytes."""
        if size >= _LEAST_COUNTED and tokens > 0:
            self._ratios.append(size / tokens)

    def tokens(self, size: int, messages: int = 0) -> int:
        return int(size / self.bytes_per_token) + 1 + messages * _MESSAGE_TOKENS


def size_of(messages: Sequence[Message]) -> int:
    return sum(len(message["content"].encode("utf-8")) for message in messages)


def sendable(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode. The length stays the same."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def fit(parts: Sequence[Part], room: int, scale: TokenScale) -> tuple[str, int] | None:
    """Join the parts, and cut the ends of the trimmable ones in proportion if necessary.

    Returns the text and the number of characters left out; None if too little of the trimmable
    parts would remain. `room` is in tokens by the scale's estimate.
    """
    whole = "".join(part.text for part in parts)
    allowed = int(room * scale.bytes_per_token)
    total = len(whole.encode())
    if total <= allowed:
        return whole, 0
    trimmable = sum(len(part.text.encode()) for part in parts if part.trimmable)
    marks = sum(len(TRIM_MARK.encode()) for part in parts if part.trimmable)
    kept_bytes = allowed - (total - trimmable) - marks
    if trimmable == 0 or kept_bytes < _LEAST_ROOM * scale.bytes_per_token:
        return None
    texts, left_out = [], 0
    for part in parts:
        if not part.trimmable:
            texts.append(part.text)
            continue
        content = part.text.encode()
        start = content[: int(len(content) * (kept_bytes / trimmable))].decode("utf-8", "ignore")
        end = max(start.rfind(" "), start.rfind("\n"))
        start = start[:end] if end > len(start) * 0.9 else start  # to the end of a word if near
        left_out += len(part.text) - len(start)
        texts.append(start + TRIM_MARK)
    return "".join(texts), left_out


class PromptFolder:
    """Stores prompts and answers for audit: a file per request, a folder per day.

    Only this user can read them. They stay for `days` days; 0 stores nothing.
    """

    def __init__(self, path: Path, days: float = 0) -> None:
        self._path = path
        self._days = days

    def keep(self, call: ModelCall, messages: Sequence[Message], answer: str | None) -> None:
        """Write a prompt and its answer to REQUEST_ID.json. Blocking.

        A full disk is only logged, because the answer is paid for.
        """
        if not self._days:
            return
        now = datetime.now(UTC)
        content = call.model_dump(include={"request_id", "provider", "model"}) | {
            "asked_at": now.isoformat(),
            "messages": list(messages),
            "answer": answer,
        }
        file = self._path / now.date().isoformat() / f"{call.request_id}.json"
        try:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            file.touch(mode=0o600)
            file.write_text(sendable(json.dumps(content, ensure_ascii=False, indent=1)), "utf-8")
        except OSError as error:
            _log.warning("A prompt could not be stored in %s: %s.", self._path, error.strerror)

    def forget(
        self, request_ids: Collection[str], sentences: Collection[str], *, dry_run: bool = False
    ) -> int:
        """Delete the files of these requests, and files that contain one of these sentences.

        Returns their number. With `dry_run` they stay.
        """
        escaped = [json.dumps(sentence, ensure_ascii=False)[1:-1] for sentence in sentences]
        files = [
            file
            for file in self._path.glob("????-??-??/*.json")
            if file.stem in request_ids or _contains(file, escaped)
        ]
        for file in () if dry_run else files:
            file.unlink(missing_ok=True)
        return len(files)

    def delete_expired(self) -> None:
        """Delete the folders of expired days: all of them if `days` is 0."""
        oldest = (datetime.now(UTC) - timedelta(days=self._days)).date()
        for folder in self._path.glob("????-??-??"):
            with suppress(ValueError):
                if date.fromisoformat(folder.name) < oldest or not self._days:
                    shutil.rmtree(folder, ignore_errors=True)


def _contains(file: Path, texts: Sequence[str]) -> bool:
    with suppress(FileNotFoundError):  # another process may delete expired files
        content = file.read_text("utf-8", "replace")
        return any(text in content for text in texts)
    return False
