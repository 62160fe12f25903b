"""Takes the pictures in README and docs from the demo of a fresh data folder.

Run: `make pictures` (about a minute on a quiet machine; it needs Chromium). Each picture file
carries its words: claims and verdicts, or assets and rules. Tests compare them with the pages.
"""

from __future__ import annotations

import io
import json
import re
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from PIL import Image
from PIL.PngImagePlugin import PngInfo

from benchmarks.readme import Fresh
from benchmarks.shared import dagster_ui
from resources.pages.browser import find_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser, FloatRect, Page

DOCS = Path(__file__).resolve().parents[1] / "docs"
TALK = "everyday-beliefs-talk"
SHOWN_HOME = "/home/you/factible/data"

_SAYS = "Says"
_PATIENCE_SECONDS = 180
_REST_MS = 2_500
_NAVIGATION = 240
"""The pixels at the left of Dagster's pages, which are the same everywhere."""

_MARGIN = 15
_COLOURS = 128

_SAY = """([says, among]) => [...document.querySelectorAll(says)].map((each) => {
  const parts = among ? [...each.querySelectorAll(among)] : [...each.children];
  const words = parts.map((part) => part.innerText).join(" ").replace(/\\s+/g, " ").trim();
  const { x, y, width, height } = each.getBoundingClientRect();
  return { words, x, y, width, height };
})"""
_HIDE = """([home, shown]) => {
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) walk.currentNode.data = walk.currentNode.data.replaceAll(home, shown);
}"""


@dataclass(frozen=True)
class Picture:
    """A page and its visible part.

    `says` selects the text in the picture, `among` the parts of it that count (all if empty),
    `only` their prefix. `clip` is the part of the page in CSS pixels: left, top, width, height;
    None encloses the text.
    """

    name: str
    path: str
    says: str
    clip: tuple[int, int, int, int] | None = None
    among: str = ""
    only: str = ""
    width: int = 1400
    scale: float = 1


REPORT = Picture(
    "report",
    f"reports/{TALK}.html",
    "article.claim > header",
    (0, 0, 1400, 1220),
    among="h3, .verdict .badge",
)
QUEUE = Picture(
    "desk",
    "/desk/queue?tab=uncertain",
    ".listed li",
    (0, 0, 1160, 850),
    among="a, .badge",
    width=1160,
)
GRAPH = Picture("graph", "/asset-groups", "foreignObject", scale=2)
VERDICTS = Picture(
    "verdicts",
    f"/assets/verdicts?view=partitions&partition={TALK}",
    "tr",
    (_NAVIGATION, 60, 1160, 1100),
    only=r"\d+\. ",
)
CHECKS = Picture(
    "checks", "/assets/verdicts?view=checks", "tr", (_NAVIGATION, 60, 1160, 850), only=r".* holds: "
)
PICTURES = (REPORT, QUEUE, GRAPH, VERDICTS, CHECKS)


def said(page: Page, picture: Picture) -> list[str]:
    """Wait until a page shows its content and is at rest; return the content.

    Raises TimeoutError.
    """
    deadline, before = time.monotonic() + _PATIENCE_SECONDS, list[str]()
    while time.monotonic() < deadline:
        lines = [str(each["words"]) for each in _found(page, picture)]
        if lines and lines == before:
            return lines
        before = lines
        page.wait_for_timeout(_REST_MS)
    raise TimeoutError(f"{page.url} does not show what the picture {picture.name} is of.")


def recorded(picture: Picture) -> list[str]:
    """Return the words of a picture at the time it was taken."""
    with Image.open(DOCS / f"{picture.name}.png") as image:
        return cast("list[str]", json.loads(str(image.info[_SAYS])))


def _found(page: Page, picture: Picture) -> list[dict[str, Any]]:
    """Return the words of a picture on its page, with their places."""
    found: list[dict[str, Any]] = page.evaluate(_SAY, [picture.says, picture.among])
    return [each for each in found if each["words"] and re.match(picture.only, each["words"])]


def _clip(page: Page, picture: Picture) -> FloatRect:
    if picture.clip:
        return cast(
            "FloatRect", dict(zip(("x", "y", "width", "height"), picture.clip, strict=True))
        )
    boxes = _found(page, picture)
    left, top = (min(each[name] for each in boxes) - _MARGIN for name in "xy")
    right = max(each["x"] + each["width"] for each in boxes) + _MARGIN
    bottom = max(each["y"] + each["height"] for each in boxes) + _MARGIN
    return {"x": left, "y": top, "width": right - left, "height": bottom - top}


def take(browser: Browser, picture: Picture, base: str, home: Path, folder: Path) -> Path:
    """Write a picture with few colours and its words, and return the path.

    Args:
        browser: Chromium.
        picture: The picture.
        base: The base of its path.
        home: The data folder, whose name is hidden.
        folder: The folder of pictures.
    """
    context = browser.new_context(
        viewport={"width": picture.width, "height": 1300},
        device_scale_factor=picture.scale,
        color_scheme="light",
        reduced_motion="reduce",
        locale="en-US",
        timezone_id="UTC",
    )
    page = context.new_page()
    page.set_default_timeout(_PATIENCE_SECONDS * 1000)
    page.goto(base + picture.path)
    words = said(page, picture)
    page.evaluate(_HIDE, [str(home), SHOWN_HOME])
    taken = page.screenshot(clip=_clip(page, picture))
    context.close()
    carried = PngInfo()
    carried.add_itxt(_SAYS, json.dumps(words, ensure_ascii=False))
    path = folder / f"{picture.name}.png"
    with Image.open(io.BytesIO(taken)) as image:
        few = image.convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE)
        few.save(path, pnginfo=carried, optimize=True)
    return path


def main() -> int:
    """Write all pictures; return 1 without a browser."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - an extra

    chromium = find_browser()
    if chromium is None:
        print("No Chromium is on PATH or named by FACTIBLE_BROWSER; no picture was taken.")
        return 1
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        home = Path(folder) / "home"
        fresh = Fresh(home)
        browser = playwright.chromium.launch(
            executable_path=str(chromium), args=["--no-sandbox", "--disable-gpu"]
        )
        print(take(browser, REPORT, f"{home.as_uri()}/", home, DOCS))
        environment = {**fresh.environment, "FACTIBLE_REVIEWER": "Reviewer One"}
        with dagster_ui(environment, Path(folder) / "dev.log") as (address, _):
            for picture in PICTURES[1:]:
                print(take(browser, picture, address, home, DOCS))
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
