"""The demo's miniature web: a folder of pages, served on loopback as many sites, with a search.

`www.healthagency.example/sugar.html` is served as `http://www.healthagency.example/sugar`,
`index.html` as `/`. `web.yaml` lists the pages with another answer:

    responses:
      - url: http://news.example/paywalled
        status: 403
        headers: {Retry-After: "60"}
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import quote, unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field

from resources.dates import read_day
from resources.errors import SetupError
from resources.network_guard import NameTable
from resources.pages.base import UNDATED, FetchedPage
from resources.search.base import SearchRequest
from resources.storage.archive import Archive
from resources.storage.imports import ImportedEntry
from resources.text_files import errors_naming, read_document

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

SEARCH_HOST = "search.example"
SEARCH_BASE_URL = f"http://{SEARCH_HOST}"

_SETTINGS_FILE = "web.yaml"
_COLLECTION = "miniature"
_MEDIA_TYPE = "text/html; charset=utf-8"
_START_SECONDS = 10.0
_DATE_RANGE = re.compile(r"cd_(min|max):(\d{1,2})/(\d{1,2})/(\d{4})")
_DATES = """
//meta[@property='article:published_time' or @name='date' or @name='dc.date'
       or @itemprop='datePublished']/@content | //time/@datetime
"""


class _Resource(BaseModel):
    """One URL of the miniature web and its answer; `web.yaml` sets all fields but `file`."""

    model_config = ConfigDict(extra="forbid")

    url: str
    status: int = Field(200, ge=200, le=599)
    headers: dict[str, str] = {}
    file: Path | None = Field(None, strict=True)


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid")

    responses: list[_Resource] = []


_Resources: TypeAlias = Mapping[tuple[str, str], _Resource]  # By host and path.


@contextmanager
def miniature_web(root: Path) -> Iterator[NameTable]:
    """Serve a folder of pages on a free loopback port, in its own thread, for a block.

    Yields the table that maps every `*.example` name to the server. Raises SetupError if the folder
    cannot be served.
    """
    import uvicorn  # noqa: PLC0415 - only the demo and the tests serve anything

    with ExitStack() as stack:
        resources = _list_resources(root)
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="factible-"))
        archive = Archive(Path(folder) / "pages.sqlite")
        listening = stack.enter_context(socket.socket())
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(
            uvicorn.Config(
                _build_app(resources, archive),
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
        stack.callback(thread.join, _START_SECONDS)
        stack.callback(setattr, server, "should_exit", True)
        deadline = time.monotonic() + _START_SECONDS
        while not server.started:
            if not thread.is_alive() or time.monotonic() > deadline:
                raise SetupError("the miniature web's server did not start")
            time.sleep(0.002)
        yield NameTable({"*.example": listening.getsockname()})


def _search(resources: _Resources, archive: Archive, body: bytes) -> dict[str, object]:
    """Answer a search request in Serper's format. The first request indexes all pages."""
    if not archive.collections():
        pages = (
            _page(resource.url, resource.file)
            for resource in resources.values()
            if resource.file is not None
        )
        archive.store((ImportedEntry(page, 1, 1) for page in pages), _COLLECTION)
    parameters = json.loads(body)
    days = {
        name: date(int(year), int(month), int(day))
        for name, month, day, year in _DATE_RANGE.findall(parameters.get("tbs", ""))
    }
    request = SearchRequest(
        parameters["q"],
        parameters["num"],
        parameters["page"],
        before=days["max"] + timedelta(days=1) if "max" in days else None,
        after=days.get("min"),
    )
    organic = [
        {
            "title": hit.title,
            "link": hit.url,
            "snippet": hit.snippet,
            "date": str(hit.published_on or ""),
        }
        for hit in archive.search(request, [_COLLECTION])
        if hit.published_on is not None or not days
    ]
    return {"organic": organic}


def _page(url: str, file: Path) -> FetchedPage:
    """Read a page for the search: its text with its description, and the day that it states."""
    from resources.pages.extract import decode, page_title, parse_html, plain_text  # noqa: PLC0415 - only the demo and the tests
    from resources.pages.hidden import drop_hidden  # noqa: PLC0415 - only the demo and the tests

    tree = parse_html(decode(file.read_bytes()))
    if tree is None:
        return FetchedPage(url, "ok", UNDATED, title=url)
    described = " ".join(tree.xpath("//meta[@name='description']/@content"))
    now = datetime.now(UTC)
    days = filter(None, (read_day(stated, now) for stated in tree.xpath(_DATES)))
    published_on = next(days, None)
    drop_hidden(tree)
    text, title = f"{plain_text(tree)}\n{described}", page_title(tree) or url
    return FetchedPage(url, "ok", UNDATED, title=title, text=text, published_on=published_on)


def _build_app(resources: _Resources, archive: Archive) -> ASGIApp:
    from starlette.requests import ClientDisconnect, Request  # noqa: PLC0415 - only the demo and the tests
    from starlette.responses import JSONResponse, Response  # noqa: PLC0415

    async def answer(request: Request) -> Response:
        host = request.headers.get("host", "").partition(":")[0].lower()
        if (host, request.scope["path"]) == (SEARCH_HOST, "/search") and request.method == "POST":
            return JSONResponse(_search(resources, archive, await request.body()))
        if request.method not in {"GET", "HEAD"}:
            return Response("method not allowed", 405, {"Allow": "GET, HEAD"})
        resource = _find(resources, host, request.scope["path"])
        if resource is None:
            return Response("<title>Not found</title><p>No such page.", 404, media_type="text/html")
        content, headers = b"", {}
        if resource.file is not None:
            content, headers = resource.file.read_bytes(), {"content-type": _MEDIA_TYPE}
        headers.update({name.lower(): value for name, value in resource.headers.items()})
        return Response(content, resource.status, headers)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        with suppress(ClientDisconnect):  # a stopped check
            response = await answer(Request(scope, receive))
            await response(scope, receive, send)

    return app


def _find(resources: _Resources, host: str, path: str) -> _Resource | None:
    other = path[:-1] if path.endswith("/") else f"{path}/"
    return resources.get((host, path)) or resources.get((host, other))


def _list_resources(root: Path) -> dict[tuple[str, str], _Resource]:
    if not root.is_dir():
        raise SetupError(
            f"{root} is not a folder; it should hold one folder per host of the miniature web"
        )
    inside = root.resolve()
    resources: dict[tuple[str, str], _Resource] = {}
    for site in sorted(root.iterdir()):
        for file in sorted(site.rglob("*.html")):
            if file.resolve().is_relative_to(inside):
                path = f"/{file.relative_to(site).as_posix()}".removesuffix(".html")
                path = path.removesuffix("index") if file.name == "index.html" else path
                host = site.name.lower()
                resources[host, path] = _Resource(url=f"http://{host}{quote(path)}", file=file)
    settings, file = _Settings(), root / _SETTINGS_FILE
    if file.exists():
        with errors_naming(file):
            settings = read_document(file).read_as(_Settings)
    for special in settings.responses:
        parts = urlsplit(special.url)
        key = ((parts.hostname or "").lower(), unquote(parts.path) or "/")
        listed = _find(resources, *key)
        if listed is not None:
            parts = urlsplit(listed.url)
            key = parts.netloc, unquote(parts.path)
            special.url, special.file = listed.url, listed.file
        resources[key] = special
    return resources
