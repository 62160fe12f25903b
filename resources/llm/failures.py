"""What a model server's failure means, whatever its dialect.

What belongs here: sorting statuses, error bodies and broken connections into `BackendError`s, and
keeping keys out of their sentences. What does not: a library's exceptions (openai.py, ollama.py).

The wordings of context errors are those of OpenAI, vLLM, llama.cpp, its Python binding, and Ollama.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import SecretStr

from resources.http import failed_handshake
from resources.llm.backend import BackendError
from resources.llm.limits import asked_pause

_SHOWN = 200
_LEAST_WINDOW = 64
_NO_CREDIT = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
_FILTERED = frozenset({"content_filter", "content_policy_violation"})
_PASSING = frozenset({408, 409, 425, 429})
_LASTING_5XX = frozenset({501, 505})
_CONTEXT_CODES = frozenset({"context_length_exceeded", "exceed_context_size_error"})
_CONTEXT = re.compile(
    r"maximum context length|context length is only|exceeds? the (available )?context|"
    r"exceeds? (the |maximum )?context (length|window|size)|exceed(ed)? max context length|"
    r"prompt (is )?too long|larger than the (max )?context size",
    re.IGNORECASE,
)
_WINDOW = re.compile(
    r"context (?:length|window|size)(?: is| of)?(?: only)?[ (]{1,2}(\d[\d,]*)", re.IGNORECASE
)
_PROMPT_TOKENS = (
    re.compile(r"\((\d+) in the messages", re.IGNORECASE),
    re.compile(r"messages resulted in (\d+) tokens", re.IGNORECASE),
    re.compile(r"passed (\d+) input tokens", re.IGNORECASE),
    re.compile(r"requested tokens \((\d+)\)", re.IGNORECASE),
    re.compile(r"request has (\d+) input tokens", re.IGNORECASE),
)


class Redactor:
    """Takes keys out of text that came from a server."""

    def __init__(self, *secrets: SecretStr | None) -> None:
        self._secrets = [s.get_secret_value() for s in secrets if s and s.get_secret_value()]

    def __repr__(self) -> str:
        return "Redactor()"

    def clean(self, text: str) -> str:
        """Return the text on one line, without keys, and not endless."""
        for secret in self._secrets:
            text = text.replace(secret, "…")
        flat = " ".join(text.split())
        return flat if len(flat) <= _SHOWN else f"{flat[: _SHOWN - 1]}…"


def usable_key(key: SecretStr | None, provider: str) -> SecretStr | None:
    """Return a key without white space around it; None if nothing is left.

    Raises:
        ValueError: It holds what no HTTP header can carry. The sentence does not repeat it.
    """
    value = key.get_secret_value().strip() if key else ""
    if not value.isascii() or not value.isprintable():
        raise ValueError(
            f"The API key for {provider} holds characters that no key has. Copy it again."
        )
    return SecretStr(value) if value else None


def host_and_address(base_url: str) -> tuple[str, str]:
    """Return the host for sentences, and the address without credentials, query and fragment."""
    parts = urlsplit(base_url)
    host = parts.hostname or base_url
    shown = f"[{host}]" if ":" in host else host
    port = f":{parts.port}" if parts.port else ""
    return f"{shown}{port}", f"{parts.scheme}://{shown}{port}{parts.path}".rstrip("/")


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """What an error answer said, as far as it said it in a known form."""

    status: int
    message: str = ""
    code: str = ""
    type: str = ""
    param: str = ""
    n_ctx: int | None = None
    n_prompt_tokens: int | None = None
    flagged: bool = False
    """Whether a moderation before the model stopped the prompt, as OpenRouter words it."""

    @classmethod
    def read(cls, status: int, body: bytes) -> ErrorBody:
        """Read `{"error": {...}}`, `{"error": "..."}`, `{"message": ...}`, or any text."""
        text = body.decode("utf-8", "replace")
        try:
            content = json.loads(text)
        except (ValueError, RecursionError):
            return cls(status, text)
        error = content.get("error", content) if isinstance(content, dict) else content
        if not isinstance(error, dict):
            return cls(status, error if isinstance(error, str) else text)
        return cls(
            status,
            _text(error, "message") or _text(error, "detail"),
            _text(error, "code"),
            _text(error, "type"),
            _text(error, "param"),
            _count(error, "n_ctx"),
            _count(error, "n_prompt_tokens"),
            isinstance(error.get("metadata"), dict) and "flagged_input" in error["metadata"],
        )

    @property
    def context_exceeded(self) -> bool:
        """Whether the prompt was too long for the model."""
        return (
            self.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
            or bool({self.code, self.type} & _CONTEXT_CODES)
            or bool(_CONTEXT.search(self.message))
        )


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    return str(value) if isinstance(value, str | int) else ""


def _count(fields: Mapping[str, Any], name: str) -> int | None:
    value = fields.get(name)
    return value if isinstance(value, int) and value >= _LEAST_WINDOW else None


def _matched(pattern: re.Pattern[str], text: str) -> int | None:
    found = pattern.search(text)
    number = int(found[1].replace(",", "")) if found else 0
    return number if number >= _LEAST_WINDOW else None


def status_error(
    body: ErrorBody, headers: Mapping[str, str], redactor: Redactor, *, remedy: str
) -> BackendError:
    """Sort an error status.

    Args:
        body: What was answered.
        headers: With lower-case names, or blind to case.
        redactor: Cleans what the server said.
        remedy: What to check if the address or the model is not found.
    """
    status, said = body.status, redactor.clean(body.message)
    if body.context_exceeded:
        return _context_error(body, said)
    if body.code in _FILTERED or body.flagged:
        return BackendError("refused", f"the service's content filter stopped the prompt: {said}")
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        return BackendError(
            "lasting", f"it sends elsewhere (status {status}); {remedy} in the settings"
        )
    known = _known_status(body, remedy)
    if known:
        return BackendError("lasting", known)
    if status in _PASSING or (
        status >= HTTPStatus.INTERNAL_SERVER_ERROR and status not in _LASTING_5XX
    ):
        what = "too many requests" if status == HTTPStatus.TOO_MANY_REQUESTS else "it failed"
        return BackendError(
            "passing", _with(f"{what} (status {status})", said), pause=asked_pause(headers)
        )
    return BackendError("lasting", _with(f"it rejected the request (status {status})", said))


def _known_status(body: ErrorBody, remedy: str) -> str | None:
    """Name what a person can put right, without the server's words: they may hold the key."""
    if {body.code, body.type} & _NO_CREDIT or body.status == HTTPStatus.PAYMENT_REQUIRED:
        return "the account has no credit left; top it up or use another key"
    return {
        HTTPStatus.UNAUTHORIZED.value: "it refused the API key (status 401); check the key",
        HTTPStatus.FORBIDDEN.value: "the API key may not use this model or service (status 403)",
        HTTPStatus.NOT_FOUND.value: f"it knows no such model or address (status 404); {remedy}",
    }.get(body.status)


def _with(what: str, said: str) -> str:
    return f"{what}: {said.rstrip('.')}" if said else what


def _context_error(body: ErrorBody, said: str) -> BackendError:
    prompt_tokens = body.n_prompt_tokens
    for pattern in _PROMPT_TOKENS:
        prompt_tokens = prompt_tokens or _matched(pattern, body.message)
    return BackendError(
        "context",
        _with(f"the prompt is too long (status {body.status})", said),
        window=body.n_ctx or _matched(_WINDOW, body.message),
        prompt_tokens=prompt_tokens,
    )


Break = Literal["connect_timeout", "timeout", "connect", "lost"]


def broken(kind: Break, error: BaseException, *, connect_seconds: float) -> BackendError:
    """Sort a broken connection. Nothing of the library's own words is repeated: they hold keys.

    Args:
        kind: Not reached in time, silent for too long, not reached, or broken off.
        error: Its chain tells a failed TLS handshake from other failures.
        connect_seconds: The limit that a connect timeout names.
    """
    handshake = failed_handshake(error)
    if handshake is not None:
        return BackendError("lasting", f"the secure connection failed: {handshake}")
    sentences: dict[Break, str] = {
        "connect_timeout": f"it could not be reached within {connect_seconds:g} seconds",
        "timeout": "it fell silent",
        "connect": "no connection could be made; the server may not be running",
        "lost": "the connection broke off before the answer was complete",
    }
    return BackendError("passing", sentences[kind], lost=kind in {"timeout", "lost"})


def malformed(what: str) -> BackendError:
    """Name an answer that is not in the protocol's form. It may have been billed."""
    return BackendError("passing", f"its answer is no {what}", lost=True)
