"""The demo's miniature web: pages under reserved names, served for real on loopback.

What belongs here: serving a folder of pages as many sites by their host names, and a search
endpoint over them in Serper's format. What does not: clients (the pages are fetched and searched
by the same clients as the real web, through `MiniatureWeb.names`), and the pages themselves.

The folder holds `<host>/<path>.html`: `www.healthagency.example/sugar.html` is served as
`http://www.healthagency.example/sugar`, `index.html` as `/`; other endings (`.txt`, `.pdf`) keep
theirs in the URL. Its `web.yaml` lists the pages that answer otherwise:

    responses:
      - url: http://news.example/paywalled
        status: 403
        headers: {Retry-After: "60"}

All URLs are listed when the server starts and looked up as they are asked for. No path is ever
built from a request, so none can leave the folder.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from email.utils import format_datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self
from urllib.parse import quote, unquote, urlsplit

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from resources.network_guard import NameTable
from resources.statements import statements

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp, Receive, Scope, Send

SEARCH_HOST = "search.example"
SEARCH_BASE_URL = f"http://{SEARCH_HOST}"

_SQL = statements("resources", "miniature_web.sql")
_SETTINGS_FILE = "web.yaml"
_MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".pdf": "application/pdf",
    ".xml": "application/xml",
    ".json": "application/json",
}
_START_SECONDS = 10.0
_OK = 200
_DATE_RANGE = re.compile(r"cd_(min|max):(\d{1,2})/(\d{1,2})/(\d{4})")
_DATE_PATHS = (
    "//meta[@property='article:published_time']/@content",
    "//meta[@name='date' or @name='dc.date' or @itemprop='datePublished']/@content",
    "//time[@datetime]/@datetime",
)
# Words that say nothing about a page; without this list they fill up answers to long questions.
_STOP_TEXT = """
a an and are as at be but by do does for from has have how if in into is it its no not of on or so
than that the their there these they this to was were what when which who why will with you your
"""
_STOP_WORDS = frozenset(_STOP_TEXT.split())


class MiniatureWebError(Exception):
    """The folder cannot be served. The message names the file and the remedy."""


class _Special(BaseModel):
    """A page that answers otherwise, as `web.yaml` lists it."""

    model_config = ConfigDict(extra="forbid")

    url: str
    status: Annotated[int, Field(ge=200, le=599)] | None = None
    headers: dict[Any, Any] | None = None


@dataclass(frozen=True, slots=True)
class _Resource:
    """One URL of the miniature web, and how it answers."""

    url: str
    file: Path | None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


class MiniatureWeb:
    """Serves a folder of pages on an ephemeral loopback port, in a thread of its own.

    Start it with `with`, or by `start` and `close`; it starts once and stops for good.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._port = 0
        self._lock = threading.Lock()
        self._server: uvicorn.Server | None = None
        self._stop = ExitStack()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def port(self) -> int:
        """The port that is listened on; starts the server if it is not running yet."""
        self.start()
        return self._port

    @property
    def names(self) -> NameTable:
        """The table that leads every `*.example` name here; starts the server if need be."""
        return NameTable({"*.example": ("127.0.0.1", self.port)})

    def start(self) -> None:
        """Start serving, unless it is being served already; MiniatureWebError if it cannot be."""
        import uvicorn  # noqa: PLC0415 - only the demo and the tests serve anything

        with self._lock, ExitStack() as undone:
            if self._server is not None:
                return
            resources = _list_resources(self._root)
            index = undone.enter_context(closing(_SearchIndex(resources)))
            listening = undone.enter_context(socket.socket())
            listening.bind(("127.0.0.1", 0))
            server = uvicorn.Server(
                uvicorn.Config(
                    _build_app(resources, index),
                    loop="asyncio",
                    http="h11",
                    ws="none",
                    lifespan="off",
                    log_config=None,
                    access_log=False,
                    server_header=False,
                    timeout_graceful_shutdown=1,
                )
            )
            thread = threading.Thread(
                target=lambda: asyncio.run(server.serve(sockets=[listening])),
                name="miniature-web",
                daemon=True,
            )
            thread.start()
            undone.callback(thread.join, _START_SECONDS)
            undone.callback(setattr, server, "should_exit", True)
            deadline = time.monotonic() + _START_SECONDS
            while not server.started:
                if not thread.is_alive() or time.monotonic() > deadline:
                    raise MiniatureWebError("the miniature web's server did not start")
                time.sleep(0.002)
            self._port = listening.getsockname()[1]
            self._server, self._stop = server, undone.pop_all()

    def close(self) -> None:
        """Let running answers end, then free the port. Does nothing if it never started."""
        with self._lock:
            self._server = None
            self._stop.close()


class _SearchIndex:
    """BM25 over the titles and texts of all HTML pages; built when first asked."""

    def __init__(self, resources: Mapping[tuple[str, str], _Resource]) -> None:
        self._pages = [
            (resource.url, resource.file)
            for resource in resources.values()
            if resource.file is not None and resource.file.suffix == ".html"
        ]
        self._lock = threading.Lock()
        self._database: sqlite3.Connection | None = None

    def answer(self, body: bytes) -> tuple[int, dict[str, object]]:
        """Answer a question in Serper's form: status and body; the best page comes first.

        Under a date restriction, pages without a date are left out.
        """
        try:
            asked = json.loads(body)
            days = {
                name: date(int(year), int(month), int(day)).isoformat()
                for name, month, day, year in _DATE_RANGE.findall(str(asked.get("tbs", "")))
            }
            query = str(asked["q"])
        except (ValueError, LookupError, AttributeError):
            return 400, {"message": "Missing query parameter", "statusCode": 400}
        limit, page = (
            max(1, min(most, value)) if isinstance(value, int) else 1
            for value, most in ((asked.get("num", 10), 100), (asked.get("page", 1), 1_000))
        )
        words = [word for word in re.findall(r"\w+", query.casefold()) if word not in _STOP_WORDS]
        values = {
            "expression": " OR ".join(f'"{word}"' for word in dict.fromkeys(words)),
            "first_day": days.get("min"),
            "last_day": days.get("max"),
            "limit": limit,
            "skipped": (page - 1) * limit,
        }
        with self._lock:
            rows = self._open().execute(_SQL["search"], values).fetchall() if words else []
        organic = []
        for position, (url, title, published_on, snippet) in enumerate(rows, start=1):
            found = {"title": title, "link": url, "snippet": " ".join(snippet.split())}
            if published_on is not None:
                day = date.fromisoformat(published_on)
                found["date"] = f"{day:%b} {day.day}, {day.year}"
            organic.append({**found, "position": position})
        parameters = {"q": query, "type": "search", "engine": "miniature"}
        return 200, {"searchParameters": parameters, "organic": organic, "credits": 1}

    def close(self) -> None:
        with self._lock:
            if self._database is not None:
                self._database.close()
                self._database = None

    def _open(self) -> sqlite3.Connection:
        if self._database is None:
            self._database = sqlite3.connect(":memory:", check_same_thread=False)
            self._database.execute(_SQL["create"])
            self._database.executemany(_SQL["add"], (_indexed(*page) for page in self._pages))
        return self._database


def _indexed(url: str, file: Path) -> tuple[str, str, str, str | None]:
    """Read what a search engine keeps of a page: address, title, text and description, date."""
    from resources.scraping.extract import decode, page_title, parse_html, plain_text  # noqa: PLC0415 - see start
    from resources.scraping.hidden import drop_hidden  # noqa: PLC0415 - see start

    tree = parse_html(decode(file.read_bytes()))
    if tree is None:
        return url, url, "", None
    described = " ".join(tree.xpath("//meta[@name='description']/@content"))
    published_on = None
    for stated in (text for path in reversed(_DATE_PATHS) for text in reversed(tree.xpath(path))):
        with suppress(ValueError):
            published_on = date.fromisoformat(stated.strip()[:10]).isoformat()
    drop_hidden(tree)
    return url, page_title(tree) or url, f"{plain_text(tree)}\n{described}", published_on


def _build_app(resources: Mapping[tuple[str, str], _Resource], index: _SearchIndex) -> ASGIApp:
    from starlette.requests import Request  # noqa: PLC0415 - see start
    from starlette.responses import JSONResponse, Response  # noqa: PLC0415

    async def answer(request: Request) -> Response:
        host = request.headers.get("host", "").partition(":")[0].lower()
        if (host, request.scope["path"]) == (SEARCH_HOST, "/search") and request.method == "POST":
            status, body = index.answer(await request.body())
            return JSONResponse(body, status)
        if request.method not in {"GET", "HEAD"}:
            return Response("method not allowed", 405, {"Allow": "GET, HEAD"})
        resource = _find(resources, host, request.scope["path"])
        if resource is None:
            return Response("<title>Not found</title><p>No such page.", 404, media_type="text/html")
        content, headers = b"", {}
        if resource.file is not None:
            content = resource.file.read_bytes()
            changed = datetime.fromtimestamp(resource.file.stat().st_mtime, UTC)
            headers = {
                "content-type": _MEDIA_TYPES[resource.file.suffix],
                "etag": f'"{hashlib.sha256(content).hexdigest()[:32]}"',
                "last-modified": format_datetime(changed, usegmt=True),
            }
        headers.update({name.lower(): value for name, value in resource.headers.items()})
        if resource.status == _OK and request.headers.get("if-none-match") == headers.get("etag"):
            return Response(status_code=304, headers=headers)
        return Response(content, resource.status, headers)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        response = await answer(Request(scope, receive))
        await response(scope, receive, send)

    return app


def _find(resources: Mapping[tuple[str, str], _Resource], host: str, path: str) -> _Resource | None:
    other = path[:-1] if path.endswith("/") else f"{path}/"
    return resources.get((host, path)) or resources.get((host, other))


def _list_resources(root: Path) -> dict[tuple[str, str], _Resource]:
    if not root.is_dir():
        raise MiniatureWebError(
            f"{root} is not a folder; it should hold one folder per host of the miniature web"
        )
    inside = root.resolve()
    found: dict[tuple[str, str], _Resource] = {}
    for site in sorted(root.iterdir()):
        for file in sorted(site.rglob("*")) if site.is_dir() else ():
            if file.suffix in _MEDIA_TYPES and file.resolve().is_relative_to(inside):
                path = f"/{file.relative_to(site).as_posix()}".removesuffix(".html")
                path = path.removesuffix("index") if file.name == "index.html" else path
                host = site.name.lower()
                found[host, path] = _Resource(f"http://{host}{quote(path)}", file)
    for special in _read_settings(root / _SETTINGS_FILE):
        parts = urlsplit(special.url)
        key = ((parts.hostname or "").lower(), unquote(parts.path) or "/")
        listed = _find(found, *key)
        if listed is not None:
            parts = urlsplit(listed.url)
            key = parts.netloc, unquote(parts.path)
            special = replace(special, url=listed.url, file=listed.file)  # noqa: PLW2901
        found[key] = special
    return found


def _read_settings(file: Path) -> Iterator[_Resource]:
    try:
        settings = yaml.safe_load(file.read_text("utf-8")) if file.exists() else {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise MiniatureWebError(f"{file} cannot be read: {error}") from error
    entries = (settings or {}).get("responses", []) if isinstance(settings, dict | None) else None
    if not isinstance(entries, list) or set(settings or {}) - {"responses"}:
        raise MiniatureWebError(f"{file} should hold one list, named responses")
    for number, entry in enumerate(entries, start=1):
        try:
            special = _Special.model_validate(entry, strict=True)
        except ValidationError as error:
            raise MiniatureWebError(
                f"{file}: response {number} should have a url, and may have a status (200 to 599) "
                "and headers (a mapping), and nothing else"
            ) from error
        texts = {str(name): str(value) for name, value in (special.headers or {}).items()}
        yield _Resource(special.url, None, special.status or _OK, texts)
