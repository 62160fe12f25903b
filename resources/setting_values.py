"""Parses the values of settings, as the environment and `.env` files write them.

A parser raises ValueError with a sentence that does not repeat the value, which may be a key.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

_HIGHEST_PORT = 65_535
_OLLAMA_PORT = 11434
_PORT = re.compile(r"[0-9]{1,5}")
_ADDRESS = re.compile(r"https?://[^\s/?#]+[^\s?#]*")


def paired(value: object) -> object:
    """Parse `name=value name=value`."""
    if not isinstance(value, str):
        return value
    pairs = [pair.partition("=") for pair in value.replace(",", " ").split()]
    if not all(name and sign and text for name, sign, text in pairs):
        raise ValueError("write it as name=value, several with spaces between")
    return {name: text for name, _, text in pairs}


def host_and_port(value: object) -> object:
    """Parse `HOST:PORT`."""
    if not isinstance(value, str):
        return value
    host, _, port = value.rpartition(":")
    if not host or not _PORT.fullmatch(port) or int(port) > _HIGHEST_PORT:
        raise ValueError("write the address as HOST:PORT")
    return host, int(port)


def web_address(value: str) -> str:
    """Validate a URL. pydantic's own error would repeat a password in it."""
    with suppress(ValueError):
        parts = urlsplit(value)
        is_whole = _ADDRESS.fullmatch(value) and parts.hostname and parts.port != 0
        if is_whole and "@" not in parts.netloc:
            return value
    raise ValueError(
        "write an address such as https://host.example:8080, without a user name and password, "
        "which factible does not send"
    )


def ollama_address(value: str) -> str:
    """Return the URL of Ollama. OLLAMA_HOST may hold only a host or a port.

    A server that listens on every address (0.0.0.0) is on loopback too.
    """
    value = value.strip()
    with suppress(ValueError):
        parts = urlsplit(value if "://" in value else f"http://{value}")
        host = parts.hostname or "127.0.0.1"
        host = "127.0.0.1" if host in {"0.0.0.0", "::"} else host  # noqa: S104 - not listened on
        bracketed = f"[{host}]" if ":" in host else host
        port = parts.port or (443 if parts.scheme == "https" else _OLLAMA_PORT)
        return web_address(f"{parts.scheme}://{bracketed}:{port}{parts.path}".rstrip("/"))
    raise ValueError("write an address such as http://127.0.0.1:11434, or only its host or port")


def expanded(path: Path) -> Path:
    """Replace ~ by the folder of the user."""
    if "\0" in str(path):
        raise ValueError("a path cannot contain a NUL byte; remove it")
    try:
        return path.expanduser()
    except RuntimeError as error:
        raise ValueError("there is no user with the name after ~; write the whole path") from error
