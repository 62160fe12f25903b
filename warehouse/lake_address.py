"""The addresses of a lake: of its catalogue in PostgreSQL, and of its files in an object store."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from importlib import import_module, resources
from urllib.parse import parse_qsl, unquote, urlsplit

import duckdb

from resources.errors import install_command
from resources.statements import statements
from warehouse.connection import escaped
from warehouse.errors import WarehouseError

_SQL = statements("warehouse", "lake.sql")
_WORD = re.compile(r"(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|\S+)")

_AWS = {
    "KEY_ID": "AWS_ACCESS_KEY_ID",
    "SECRET": "AWS_SECRET_ACCESS_KEY",
    "SESSION_TOKEN": "AWS_SESSION_TOKEN",
    "REGION": "AWS_REGION",
}
_STORES: dict[str, tuple[str, str, dict[str, str]]] = {
    "s3": ("httpfs", "s3", _AWS),
    "gs": ("httpfs", "gcs", _AWS),
    "az": ("azure", "azure", {"CONNECTION_STRING": "AZURE_STORAGE_CONNECTION_STRING"}),
}
"""By scheme: DuckDB's extension for an object store, its type of secret, and the usual environment
variables. Google's HMAC keys use the names of AWS, as its S3-compatible tools do."""


def connection_words(text: str) -> dict[str, str] | None:
    """Parse libpq's keywords or an address; None if the text is neither."""
    if "://" not in text:
        if _WORD.sub("", text).strip():
            return None
        return {
            name: re.sub(r"\\(.)", r"\1", value[1:-1]) if value.startswith("'") else value
            for name, value in _WORD.findall(text)
        }
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in {"postgresql", "postgres"}:
        return None
    words = {
        "host": parts.hostname,
        "port": port and str(port),
        "user": parts.username and unquote(parts.username),
        "password": parts.password and unquote(parts.password),
        "dbname": unquote(parts.path.strip("/")),
    }
    return {name: word for name, word in words.items() if word} | dict(parse_qsl(parts.query))


def quoted(value: str) -> str:
    """Quote a value of libpq's `keyword=value` form, if it needs quotes."""
    inner = re.sub(r"(['\\])", r"\\\1", value)
    return value if re.fullmatch(r"[^\s'\\]+", value) else f"'{inner}'"


def store_of(data: str) -> tuple[str, str, dict[str, str]]:
    """Return the entry of _STORES for an address. Raises WarehouseError: The scheme is unknown."""
    scheme = urlsplit(data).scheme
    if scheme not in _STORES:
        known = ", ".join(f"{name}://" for name in _STORES)
        raise WarehouseError(f"FACTIBLE_LAKE_DATA is a folder, or begins with {known}.")
    return _STORES[scheme]


def secret_of_store(data: str) -> str:
    """Return SQL that creates a secret for one location from the usual variables, if there are any.

    DuckDB also keeps AWS's variables as settings, which a query could show; the SQL erases them.
    """
    extension_name, kind, variables = store_of(data)
    values = {key: os.environ[name] for key, name in variables.items() if os.environ.get(name)}
    forget = _SQL["forget_keys"] if extension_name == "httpfs" else ""
    if not values.keys() & {"KEY_ID", "CONNECTION_STRING"}:
        return forget
    server = urlsplit(os.environ.get("AWS_ENDPOINT_URL", ""))
    if server.netloc and extension_name == "httpfs":
        values |= {"ENDPOINT": server.netloc, "URL_STYLE": "path"}
        values["USE_SSL"] = str(server.scheme == "https").lower()
    options = "".join(f", {name} '{escaped(value)}'" for name, value in values.items())
    return forget + _SQL["secret_of_store"].format(kind=kind, data=escaped(data), options=options)


def extension(name: str) -> str:
    """Return the path of the packaged extension for this version of DuckDB."""
    with suppress(ImportError):
        folder = resources.files(import_module(f"duckdb_extension_{name}"))
        file = folder / "extensions" / f"v{duckdb.__version__}" / f"{name}.duckdb_extension"
        if file.is_file():
            return escaped(str(file))
    raise WarehouseError(
        f"A lake needs the extension {name} for DuckDB {duckdb.__version__}. Install it: "
        f"{install_command('lake')}"
    )
