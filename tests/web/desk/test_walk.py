"""A fact-checker's walk through the desk, with a real browser and real checks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.chromium import needs_browser
from tests.report.browser import chromium
from tests.report.test_browser import COLOURS

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = needs_browser


@contextmanager
def service(home: Path) -> Iterator[str]:
    """Run `factible serve`, and yield its address."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FACTIBLE_")}
    environment = {**kept, "FACTIBLE_HOME": str(home), "FACTIBLE_REVIEWER": "Reviewer One"}
    command = [str(Path(sys.executable).with_name("factible")), "serve", "--port", "0"]
    with subprocess.Popen(
        command, env=environment, stderr=subprocess.PIPE, cwd=home, text=True
    ) as process:
        try:
            assert process.stderr is not None
            said = process.stderr.readline()
            yield said.split("The desk is at ")[1].split(";")[0]
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait() == 0, "Ctrl-C is how a service ends"


def press_to(page: Page, selector: str) -> None:
    """Press Tab until an element has the focus."""
    for _ in range(150):
        if page.evaluate("(wanted) => document.activeElement.matches(wanted)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab never reached {selector}")


def findings(page: Page) -> list[str]:
    """Return all findings of axe on the unfolded page: light, dark, and too wide on a phone."""
    base: Any = pytest.importorskip("axe_playwright_python.base")
    run = "(options) => axe.run({...options, resultTypes: ['violations']})"
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    page.evaluate(base.AXE_FILE_PATH.read_text("utf-8"))
    found = page.evaluate(run, {})["violations"]
    page.emulate_media(color_scheme="dark")
    found += page.evaluate(run, COLOURS)["violations"]
    page.set_viewport_size({"width": 360, "height": 740})
    widest = page.evaluate("document.documentElement.scrollWidth")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.emulate_media(color_scheme="light")
    too_wide = [f"{page.url} is {widest} wide"] if widest > 360 else []
    return too_wide + [
        f"{page.url} {each['id']}: {node['html'][:200]} {node['failureSummary'][:300]}"
        for each in found
        for node in each["nodes"]
    ]


def test_a_link_leads_to_a_signed_ruling_by_keyboard(  # noqa: PLR0915 - one walk
    tmp_path: Path,
) -> None:
    with service(tmp_path) as address, chromium() as browser:
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        page = context.new_page()
        page.set_default_timeout(0)  # the watchdog of the test ends it
        elsewhere: list[str] = []
        errors: list[str] = []
        page.on(
            "request",
            lambda each: None if each.url.startswith(address) else elsewhere.append(each.url),
        )
        page.on("console", lambda message: errors.append(message.text))
        page.on("pageerror", lambda error: errors.append(str(error)))

        page.goto(address)
        page.wait_for_selector("#link:focus")  # It is given with the first painting.
        page.keyboard.type("everyday-beliefs-talk")
        press_to(page, "#most")
        page.keyboard.press("Control+A")
        page.keyboard.type("2")
        page.keyboard.press("Enter")

        page.wait_for_url("**/desk/runs/*")
        page.wait_for_selector("#done a:focus")
        assert len(page.query_selector_all("#claims .badge")) == 2
        found = findings(page)
        page.keyboard.press("Enter")
        page.wait_for_url("**/claims/**")
        claim = page.url
        found += findings(page)

        page.keyboard.press("j")
        card = page.evaluate("document.activeElement.id")
        assert card.startswith("source-")
        page.keyboard.press("a")
        page.wait_for_url("**recorded=waits**")
        assert page.evaluate("document.activeElement.id").startswith("on-")
        assert "Undo" in page.inner_text(".work:focus")
        page.keyboard.press("?")
        assert page.inner_text("dialog").startswith("Keys")
        page.keyboard.press("Escape")

        page.keyboard.press("2")
        page.wait_for_selector("#prose:focus")
        page.keyboard.type("no one ever showed it")  # The letters are no keys here.
        page.keyboard.press("Control+Enter")
        page.wait_for_url("**decided=**")
        assert page.inner_text("main [role=status]").startswith("Your decision is recorded.")
        assert claim.partition("?")[0] not in page.url.partition("?")[0]
        page.goto(claim.partition("?")[0])
        said = page.inner_text(".reviews")
        assert "Reviewer One" in said
        assert "signed: Refuted" in said
        assert "no one ever showed it" in said
        found += findings(page)

        for path in ("/desk", "/desk/queue?tab=mine", "/desk/name", "/docs"):
            page.goto(f"{address}{path}")
            found += findings(page)
        page.goto(f"{address}/desk/videos/everyday-beliefs-talk")
        found += findings(page)
        page.goto(f"{address}/desk/videos/everyday-beliefs-talk/claims")
        found += findings(page)
        page.goto(f"{address}/desk/search?q=people+honey+vitamin")
        found += findings(page)
        page.goto(claim)
        page.goto(f"{address}{page.get_attribute('text=Card', 'href')}")
        assert "no one ever showed it" in page.inner_text("main")
        found += findings(page)
        context.close()
    assert found == []
    assert errors == []
    assert elsewhere == []
