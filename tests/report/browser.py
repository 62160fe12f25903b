"""Chromium for the tests of the pages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakKeyDictionary

from resources.pages.browser import find_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page, Route

SITE = "http://reports.example"
PLAYER = "https://www.youtube-nocookie.com"
SWITCHES = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_WATCH = """
    window.ran = [];
    window.violations = [];
    for (const name of ["alert", "confirm", "prompt", "open"]) {
      window[name] = (...given) => { window.ran.push(name); };
    }
    document.addEventListener("securitypolicyviolation", (event) => {
      window.violations.push(`${event.effectiveDirective} ${event.blockedURI}`);
    });
"""
"""Records calls of hostile scripts, and violations of the policy."""

_FAKE_PLAYER = """<!DOCTYPE html><title>player</title><body><script>
    window.heard = [];
    addEventListener("message", (event) => {
      const message = JSON.parse(event.data);
      window.heard.push(message);
      const say = (value) => parent.postMessage(JSON.stringify(value), "*");
      if (message.event === "listening") say({ event: "onReady" });
      if (message.func === "seekTo") {
        say({ event: "infoDelivery", info: { currentTime: message.args[0] } });
      }
    });
</script>"""
"""Answers messages as YouTube's player does."""

_NUMBERS = count()
_SHARED: WeakKeyDictionary[Browser, dict[bool, Page]] = WeakKeyDictionary()
_MUTE_PLAYER = "<!DOCTYPE html><title>player</title>Error 153"


@contextmanager
def chromium() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - may not be installed

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(find_browser()), args=list(SWITCHES)
        )
        yield browser
        browser.close()


@dataclass
class Visit:
    """A page in a fresh browser profile, with answers to all its requests."""

    context: BrowserContext
    page: Page
    player: str
    source: str
    requests: list[str] = field(default_factory=list)
    referrers: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def load(self, source: str, fragment: str = "") -> None:
        """Open another page, or the same anew."""
        self.source = source
        # At an address of its own: with another fragment alone, nothing would be loaded.
        self.page.goto(f"{SITE}/page-{next(_NUMBERS)}{fragment}")

    def answer(self, route: Route) -> None:
        request = route.request
        if request.url.startswith("file:"):
            route.continue_()
            return
        if request.url.startswith(SITE):
            route.fulfill(body=self.source, content_type="text/html; charset=utf-8")
            return
        self.requests.append(request.url)
        if request.url.startswith(PLAYER):
            self.referrers.append(request.headers.get("referer", ""))
            route.fulfill(body=self.player, content_type="text/html")
            return
        route.abort()

    @property
    def ran(self) -> list[str]:
        return list(self.page.evaluate("window.ran"))

    @property
    def violations(self) -> list[str]:
        return list(self.page.evaluate("window.violations"))

    def focus(self) -> dict[str, Any]:
        """Return the focused element."""
        return dict(
            self.page.evaluate(
                "({tag: document.activeElement.tagName, id: document.activeElement.id,"
                " href: document.activeElement.getAttribute('href') ?? '',"
                " className: document.activeElement.className})"
            )
        )

    def tab_to(self, **wanted: str) -> None:
        """Press Tab until the focused element is as wanted."""
        for _ in range(200):
            self.page.keyboard.press("Tab")
            focus = self.focus()
            if all(focus[name] == value for name, value in wanted.items()):
                return
        raise AssertionError(f"Tab never reached {wanted}")

    def open_everything(self) -> None:
        self.page.evaluate(
            "document.querySelectorAll('details').forEach((d) => { d.open = true; })"
        )


@contextmanager
def visit(
    browser: Browser,
    source: str,
    *,
    width: int = 1280,
    colours: Literal["light", "dark"] = "light",
    mute: bool = False,
    fragment: str = "",
    scripts: bool = True,
    alone: bool = False,
) -> Iterator[Visit]:
    """Open a page as a web server delivers it.

    Visits share one page with scripts and one without, which they leave as they found it. A visit
    `alone` has a page of its own.
    """
    shared = _SHARED.setdefault(browser, {})
    page = None if alone else shared.get(scripts)
    if page is None:
        context = browser.new_context(reduced_motion="reduce", java_script_enabled=scripts)
        page = context.new_page()
        page.set_default_timeout(0)  # the watchdog of the test ends it
        page.context.add_init_script(_WATCH)
    if not alone:
        shared[scripts] = page
    page.emulate_media(color_scheme=colours)
    page.set_viewport_size({"width": width, "height": 800})
    opened = Visit(page.context, page, _MUTE_PLAYER if mute else _FAKE_PLAYER, source)
    listeners: dict[str, Any] = {
        "console": lambda message: opened.errors.append(message.text),
        "pageerror": lambda error: opened.errors.append(str(error)),
    }
    for event, heard in listeners.items():
        page.on(event, heard)  # type: ignore[call-overload]
    # What a page opens is answered too.
    page.context.route("**/*", opened.answer)
    opened.load(source, fragment)
    try:
        yield opened
    finally:
        if not alone:
            page.evaluate("localStorage.clear()")
            page.emulate_media(media="screen")
            page.context.unroute_all()
            for event, heard in listeners.items():
                page.remove_listener(event, heard)
        else:
            page.context.close()
