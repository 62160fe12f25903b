"""Draws pages that need their scripts, in the system's Chromium.

Each page has its own context (no cookies, storage or cache of another page) and its own guarded
proxy. The browser gets the page's fetched answer, and loads only the rest, without images, media
and fonts. A page has 20 s for its document and up to 12 s more for its text (Factible,
section 1.3.4, step 3).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from resources.http import OutageError, Response, UnavailableError, is_passing
from resources.network_guard import NetworkGuard
from resources.pages.guarded_proxy import GuardedProxy

if TYPE_CHECKING:
    from playwright.async_api import Browser as PlaywrightBrowser
    from playwright.async_api import BrowserContext, Page, Playwright, Request, Route
    from playwright.async_api import Response as Answer

BROWSER_VARIABLE = "FACTIBLE_BROWSER"
UNSANDBOXED = (
    "The browser that draws pages runs without its sandbox, because this is root. "
    "Run as another user, or set FACTIBLE_BROWSER=off."
)

_LOG = logging.getLogger("factible.browser")
WHOLE_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# They have no windows, so that a page costs a third of the processor time.
_HEADLESS_SHELLS = ("chromium-headless-shell", "chrome-headless-shell")
_PRODUCT = "factible-assets/0.1"

_INSTALL = (
    "install Chromium (on Debian: apt-get install chromium-headless-shell) or set "
    f"{BROWSER_VARIABLE} to its executable"
)

_ARGUMENTS = (
    # Nothing resolves a name past the proxy, and the browser sends no requests of its own.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-sync",
    "--disable-gpu",
    "--disable-extensions",
    "--dns-prefetch-disable",
    "--no-pings",
    "--no-first-run",
    "--mute-audio",
)
# What a browser needs to start. The rest of the environment may hold keys.
_ENVIRONMENT = ("PATH", "HOME", "LANG", "TMPDIR", "XDG_RUNTIME_DIR", "FONTCONFIG_PATH")

_UNLOADED = frozenset({"image", "media", "font", "texttrack", "ping"})
_ESSENTIAL = frozenset({"document", "script", "xhr", "fetch"})
_OWN_ABORTS = ("ERR_BLOCKED_BY_CLIENT", "ERR_ABORTED", "ERR_SOCKS_CONNECTION")

_POLL_SECONDS = 0.15
_QUIET_POLLS = 3
_ENOUGH_TEXT = 100
_MAX_MARKUP = 5_000_000
_PAGES_AT_ONCE = 4
_GRACE_SECONDS = 5.0
_START_SECONDS = 30.0
_CLOSE_SECONDS = 10.0

_TEXT_LENGTH, _MARKUP = (
    Path(__file__).with_name(name).read_text("utf-8") for name in ("text_length.js", "markup.js")
)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A drawn page; `url` and `html` belong together.

    `failure` names a document, script or data of the page's own host that did not load,
    `foreign_failure` one of another host. They may load later.
    """

    url: str
    html: str = field(repr=False)
    byte_count: int
    failure: str | None = None
    foreign_failure: str | None = None


def find_browser(named: str | None = None) -> str | None:
    """Return the browser's executable: the named one, else one on PATH, a headless shell first.

    `named` None stands for FACTIBLE_BROWSER.
    """
    named = os.environ.get(BROWSER_VARIABLE) if named is None else named
    names = [named] if named else [*_HEADLESS_SHELLS, *WHOLE_BROWSERS]
    return next(filter(None, map(shutil.which, names)), None)


@dataclass(eq=False)
class Browser(contextlib.AbstractAsyncContextManager["Browser"]):
    """Draws pages in one event loop; starts with the first page. Use it with `async with`.

    `guard` decides about every request of a page. A document may take `load_seconds`, and then its
    text `wait_seconds`.
    """

    guard: NetworkGuard
    executable: str
    load_seconds: float = 20.0
    wait_seconds: float = 12.0
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_PAGES_AT_ONCE))
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _playwright: Playwright | None = None
    _browser: PlaywrightBrowser | None = None
    _ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def __aexit__(self, *_: object) -> None:
        """Close the browser. Another page starts a new one."""
        async with self._lock:
            await self._stop()

    async def draw(self, response: Response) -> Drawn:
        """Draw a page's answer. UnavailableError: it left the web; OutageError: drawing failed."""
        async with self._slots:
            try:
                browser = await self._running()
                return await self._unless_it_ends(self._draw(browser, response))
            except _playwright().Error as error:
                raise OutageError(
                    f"the browser could not draw the page: {_first_line(error)}"
                ) from error

    async def _draw(self, browser: PlaywrightBrowser, response: Response) -> Drawn:
        limit = self.load_seconds + self.wait_seconds + _GRACE_SECONDS
        try:
            async with (
                asyncio.timeout(limit),
                GuardedProxy(self.guard) as proxy,
                _context(browser, proxy.port) as context,
            ):
                page = await context.new_page()
                visit = _Visit(response)
                await visit.follow(context, page)
                is_late = False
                try:
                    milliseconds = self.load_seconds * 1_000
                    await page.goto(
                        response.url, wait_until="domcontentloaded", timeout=milliseconds
                    )
                except _playwright().TimeoutError:
                    is_late = True
                has_text = await visit.wait_for_text(page, self.wait_seconds)
                if is_late and not has_text:
                    raise OutageError(f"the page was not there after {self.load_seconds:g} seconds")
                drawn = await page.evaluate(_MARKUP, _MAX_MARKUP)
                url, html = str(drawn["url"]).partition("#")[0], str(drawn["html"])
                if not url.startswith(("http://", "https://")):
                    raise UnavailableError("the page led away from the web")
                failures = visit.failures
                for host in proxy.failures:
                    failures.setdefault(host, f"no connection to {host} could be made")
                own = failures.pop(_host(response.url), None)
                foreign = next(iter(failures.values()), None)
                return Drawn(url, html, proxy.received, own, foreign)
        except TimeoutError as error:
            raise OutageError(
                f"the page's scripts kept the browser busy for {limit:g} seconds"
            ) from error

    # --- The process ----------------------------------------------------------------------------

    async def _running(self) -> PlaywrightBrowser:
        """Return the browser; start it if it is not running."""
        async with self._lock:
            if self._browser is None or not self._browser.is_connected():
                await self._stop()
                ended = self._ended = asyncio.Event()
                self._browser = await self._start()
                self._browser.on("disconnected", lambda _: ended.set())
            return self._browser

    async def _unless_it_ends(self, drawing: Coroutine[Any, Any, Drawn]) -> Drawn:
        """Await a drawing, or raise OutageError as soon as the browser ends.

        A call to a browser that has just died may never return.
        """
        tasks = asyncio.ensure_future(drawing), asyncio.ensure_future(self._ended.wait())
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if tasks[0].done():
                return tasks[0].result()
            raise OutageError("the browser ended while it drew the page")
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _start(self) -> PlaywrightBrowser:
        if not is_sandboxed():
            _LOG.warning("%s", UNSANDBOXED)
        self._playwright = await _playwright().async_playwright().start()
        try:
            return await self._playwright.chromium.launch(
                executable_path=self.executable,
                chromium_sandbox=is_sandboxed(),
                args=list(_ARGUMENTS),
                env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
                # An unused port, because each page has its own proxy.
                proxy={"server": "socks5://127.0.0.1:9"},
                handle_sigint=False,
                handle_sigterm=False,
                handle_sighup=False,
                timeout=_START_SECONDS * 1_000,
            )
        except _playwright().Error as error:
            await self._stop()
            raise OutageError(
                f"the browser {Path(self.executable).name} did not start "
                f"({_first_line(error)}); {_INSTALL}"
            ) from error

    async def _stop(self) -> None:
        browser, self._browser = self._browser, None
        playwright, self._playwright = self._playwright, None
        if browser is not None:
            with contextlib.suppress(_playwright().Error, TimeoutError):
                async with asyncio.timeout(_CLOSE_SECONDS):
                    await browser.close()
        if playwright is not None:
            await playwright.stop()


class _Visit:
    """The requests of one page while the browser draws it; `failures` has one reason per host."""

    def __init__(self, response: Response) -> None:
        self._response = response
        self._handed_over = False
        self._pending: set[Request] = set()
        self.failures: dict[str, str] = {}

    async def follow(self, context: BrowserContext, page: Page) -> None:
        """Listen to the requests of a page, and keep it in one window."""
        await context.route("**/*", self._on_request)
        context.on("page", self._close_window)
        page.on("request", self._on_sent)
        page.on("requestfinished", lambda request: self._pending.discard(request))  # noqa: PLW0108
        page.on("requestfailed", self._on_failure)
        page.on("response", self._on_answer)

    async def _close_window(self, opened: Page) -> None:
        with contextlib.suppress(_playwright().Error):
            await opened.close()

    def _on_sent(self, request: Request) -> None:
        if request.resource_type in _ESSENTIAL:
            self._pending.add(request)

    def _on_failure(self, request: Request) -> None:
        self._pending.discard(request)
        if not any(code in (request.failure or "") for code in _OWN_ABORTS):
            self._note(request, "")

    def _on_answer(self, answer: Answer) -> None:
        if is_passing(answer.status):
            self._note(answer.request, f" (status {answer.status})")

    async def wait_for_text(self, page: Page, seconds: float) -> bool:
        """Wait for enough stable text (a cookie notice is text too); tell whether it came."""
        last, quiet = 0, 0
        try:
            async with asyncio.timeout(seconds):
                while quiet < _QUIET_POLLS:
                    try:
                        length = int(await page.evaluate(_TEXT_LENGTH))
                    except _playwright().Error:
                        if page.is_closed():
                            raise
                        length = 0  # the page is navigating
                    is_quiet = length == last and length >= _ENOUGH_TEXT and not self._pending
                    quiet = quiet + 1 if is_quiet else 0
                    last = length
                    await asyncio.sleep(_POLL_SECONDS)
        except TimeoutError:
            return last >= _ENOUGH_TEXT
        return True

    async def _on_request(self, route: Route) -> None:
        """Answer the first request for the page with its fetched answer; let others pass or not."""
        request = route.request
        with contextlib.suppress(_playwright().Error):  # the page may be closed by now
            if request.resource_type in _UNLOADED:
                await route.abort("blockedbyclient")
            elif (
                not self._handed_over
                and request.is_navigation_request()
                and request.method == "GET"
                and request.url.partition("#")[0] == self._response.url
            ):
                self._handed_over = True
                await route.fulfill(
                    status=self._response.status,
                    headers=_headers(self._response),
                    body=self._response.body,
                )
            else:
                await route.continue_()

    def _note(self, request: Request, why: str) -> None:
        """Record the failure of an essential request."""
        if request.resource_type in _ESSENTIAL:
            host, kind = _host(request.url), request.resource_type
            self.failures.setdefault(host, f"a {kind} of {host} could not be loaded{why}")


@asynccontextmanager
async def _context(browser: PlaywrightBrowser, proxy_port: int) -> AsyncIterator[BrowserContext]:
    context = await browser.new_context(
        proxy={"server": f"socks5://127.0.0.1:{proxy_port}"},
        user_agent=(
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; "
            f"{_PRODUCT}) Chrome/{browser.version} Safari/537.36"
        ),
        service_workers="block",
        accept_downloads=False,
        permissions=[],
        locale="en-US",
        reduced_motion="reduce",
    )
    try:
        yield context
    finally:
        if browser.is_connected():
            with contextlib.suppress(_playwright().Error, TimeoutError):
                async with asyncio.timeout(_CLOSE_SECONDS):
                    await context.close()


def _headers(response: Response) -> dict[str, str]:
    # For a decoded body; cookies stay one per line.
    dropped = {"content-encoding", "content-length", "transfer-encoding", "connection"}
    headers: dict[str, str] = {}
    for name, value in response.headers.multi_items():
        separator = "\n" if name == "set-cookie" else ", "
        if name not in dropped:
            headers[name] = f"{headers[name]}{separator}{value}" if name in headers else value
    return headers


def _host(url: str) -> str:
    return (urlsplit(url).hostname or "")[:80]


def _playwright() -> Any:
    """Import the library late: it is an extra, and few pages need it."""
    return import_module("playwright.async_api")


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or ["no reason given"])[0][:200]


def is_sandboxed() -> bool:
    """Tell whether the browser can use its sandbox: Chromium refuses to as root."""
    return not (hasattr(os, "geteuid") and os.geteuid() == 0)
