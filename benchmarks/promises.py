"""Measures the test that a page is the search hit: true pages called due, and failures that pass.

Run: `python -m benchmarks.promises`. The constants of `resources/promises.py` were chosen on the
videos of the first half and on the known forms of `tests/resources/forms.yaml`; the other half and
the unseen forms are for the report. It prints

- of the recorded pages, each with every title and snippet of its searches, the number called due;
- of the known and the unseen forms, each in place of 50 recorded pages, alone and below the title,
  the number of pairs that pass for the page, and of forms that pass at least once;
- of beginnings of recorded pages with a call to subscribe, the number that pass;
- of the known and the unseen forms, each in place of half of the demo's pages, the number of
  complete but different verdicts.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zlib import crc32

import yaml

from benchmarks.faults import Case, compared, prepare, struck
from factible_assets.stages.flow import check_claims
from factible_assets.stages.ports import Fetcher
from resources.pages.base import FetchedPage
from resources.promises import Promise, broken
from tests.shared_data import shared_data

FORMS: dict[str, list[list[str]]] = yaml.safe_load(
    Path("tests/resources/forms.yaml").read_text("utf-8")
)
KINDS = ("known", "unseen")
PLACES = 50
"""The number of recorded pages that each form replaces."""
BEGINNINGS = (25, 40, 60, 100)
"""The words after which a page is cut."""
CALL = "…\nSubscribe to continue reading. Already a member? Log in."

Offer = tuple[Promise, FetchedPage]


def offers() -> tuple[list[Offer], list[Offer]]:
    """Return the recorded pages with their hits: of every second video, and of the rest."""
    folder = shared_data("recorded_web")
    pages: dict[str, Any] = {}
    for line in (folder / "pages.jsonl").read_text("utf-8").splitlines():
        page = json.loads(line)
        pages[page["url"]] = page
    found: dict[tuple[str, str, str], str] = {}
    for line in (folder / "hits.jsonl").read_text("utf-8").splitlines():
        search = json.loads(line)
        for hit in search["hits"]:
            if hit["url"] in pages:
                key = (hit["url"], hit["title"], hit["snippet"] or "")
                found.setdefault(key, search["video_id"])
    first = set(sorted(set(found.values()))[::2])
    halves: tuple[list[Offer], list[Offer]] = ([], [])
    for (url, title, snippet), video in found.items():
        page = fetched(url, pages[url]["title"] or "", pages[url]["text"])
        halves[video not in first].append((Promise(title, snippet), page))
    return halves


def fetched(url: str, title: str, text: str) -> FetchedPage:
    """Return a page as if fetched now."""
    return FetchedPage(url, "ok", datetime.now(UTC), url, via="scraped", title=title, text=text)


def forms_in_place(kind: str, half: Sequence[Offer]) -> Iterator[tuple[str, bool]]:
    """Yield whether each form passes for some pages."""
    chance = random.Random(kind)  # noqa: S311 - a choice for a measurement, not a secret
    for _, text in FORMS[kind]:
        for promise, page in chance.sample(half, PLACES):
            for title, shown in (("", text), (promise.title, f"{promise.title}\n{text}")):
                yield text, broken(promise, fetched(page.url, title, shown)) is None


def beginnings(half: Sequence[Offer], words: int) -> Iterator[bool]:
    """Yield for each long page whether its beginning passes."""
    for promise, page in half:
        parts = re.findall(r"\S+\s*", page.text)
        if len(parts) > 2 * words:
            text = "".join(parts[:words]).rstrip() + CALL
            yield broken(promise, replace(page, text=text)) is None


@dataclass
class SpoiltPages:
    """A fetcher that replaces half of the pages by a form, with their title or bare."""

    inner: Fetcher
    form: str

    async def fetch(self, url: str, *, promise: Promise | None = None) -> FetchedPage:
        right = await self.inner.fetch(url, promise=promise)
        lot = crc32(f"{url} {self.form}".encode()) % 4
        if right.outcome != "ok" or lot > 1:
            return right
        title = right.title or ""
        shown = (self.form, f"{title}\n{self.form}")[lot]
        return replace(right, title=title if lot else None, text=shown)


async def turned(case: Case, form: str) -> list[str]:
    """Return the complete but wrong verdicts with a form in place of pages."""
    doors = struck(case.services, case.memory, None)
    services = replace(doors, fetcher=SpoiltPages(doors.fetcher, form))
    found = await check_claims(case.video, case.claims, services, case.config)
    ends = compared(case.expected, found.verdicts)
    return [end for end in ends if end not in {"same", "less sure", "incomplete"}]


async def measure() -> None:
    halves = offers()
    for name, half in zip(("first half (decided on)", "other half"), halves, strict=True):
        due = [page.url for promise, page in half if broken(promise, page)]
        print(f"true pages called due, {name}: {len(due)} of {len(half)}")
    for kind, half in zip(KINDS, halves, strict=True):
        pairs = list(forms_in_place(kind, half))
        passed = [text for text, passes in pairs if passes]
        print(
            f"{kind} forms: {len(passed)} of {len(pairs):,} pairs pass for the page, "
            f"{len(set(passed))} of {len(FORMS[kind])} forms at least once"
        )
    for words in BEGINNINGS:
        passes = list(beginnings(halves[1], words))
        print(f"beginnings of {words} words: {sum(passes)} of {len(passes)} pass (other half)")
    async with AsyncExitStack() as stack:
        case = await prepare(stack)
        for kind in KINDS:
            wrong = {
                text[:60]: ends for _, text in FORMS[kind] if (ends := await turned(case, text))
            }
            print(
                f"{kind} forms that turn a verdict of the demo: {len(wrong)} of {len(FORMS[kind])}"
            )
            for text, ends in wrong.items():
                print(f"  {text!r}: {ends}")


if __name__ == "__main__":
    sys.exit(asyncio.run(measure()))
