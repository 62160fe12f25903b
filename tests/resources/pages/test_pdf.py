"""Reading PDFs in a process of their own: text, metadata, and a name for each failure."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resources.http import HttpClient, UnavailableError
from resources.pages.pdf_worker import reflow
from resources.pages.reading import read_pdf
from resources.pages.scraper import PageFetcher
from tests.patience import A_DAY
from tests.resources.pages.pdfs import endless_pdf, pdf, scanned_pdf
from tests.servers import MisbehavingServer, respond

SITE = "http://site.example"
LINES = [
    "Water boils at a lower temperature on a mountain, because the air there presses",
    "less upon it. Whoever cooks at three thousand metres has to be patient: an egg takes con-",
    "siderably longer (about two minutes).",
    "A second paragraph follows, in which it is said that salt raises the boiling point by less",
    "than half a degree.",
]
FACTS = {
    "Title": "Microsoft Word - Boiling",
    "Author": "Ada Lovelace",
    "CreationDate": "D:20210305080000Z",
}


@pytest.fixture
def fetcher(http: HttpClient) -> PageFetcher:
    return PageFetcher(http)


@pytest.mark.parametrize(
    "content_type", ["application/pdf", "application/octet-stream", "text/html", None]
)
async def test_a_pdf_is_read_however_it_is_declared(
    server: MisbehavingServer, fetcher: PageFetcher, content_type: str | None
) -> None:
    server.on("/report.pdf", respond(pdf(LINES, facts=FACTS), content_type=content_type))
    page = await fetcher.fetch(f"{SITE}/report.pdf")
    assert (page.outcome, page.via, page.reason) == ("ok", "pdf", None)
    assert page.text == (
        "Water boils at a lower temperature on a mountain, because the air there presses "
        "less upon it. Whoever cooks at three thousand metres has to be patient: an egg takes "
        "considerably longer (about two minutes).\n"
        "A second paragraph follows, in which it is said that salt raises the boiling point by "
        "less than half a degree."
    )
    assert (page.title, page.author) == ("Boiling", "Ada Lovelace")
    assert page.published_on == date(2021, 3, 5)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (pdf(LINES, password="sesame"), "encrypted"),
        (scanned_pdf(), "empty"),
        (pdf([]), "empty"),
        (b"%PDF-1.7", "broken"),
        (pdf(LINES)[:300], "broken"),
        (b"%PDF-1.4\n" + bytes(range(256)) * 40, "broken"),
    ],
    ids=["encrypted", "scanned", "empty", "only a start", "cut off", "noise"],
)
async def test_each_pdf_that_cannot_be_read_has_its_reason(
    server: MisbehavingServer, fetcher: PageFetcher, data: bytes, reason: str
) -> None:
    server.on("/", respond(data, content_type="application/pdf"))
    page = await fetcher.fetch(f"{SITE}/")
    assert (page.outcome, page.via, page.text) == ("unavailable", None, "")
    assert (page.reason or "").startswith(f"{reason}:")


async def test_an_encrypted_pdf_without_a_password_is_readable() -> None:
    extract = await read_pdf(pdf(LINES, owner_password="sesame"), seconds=A_DAY)
    assert extract.text.startswith("Water boils")


async def test_a_date_that_cannot_be_true_is_no_date() -> None:
    for moment in ("D:29990101000000Z", "D:19000101000000Z", "D:garbage"):
        extract = await read_pdf(pdf(LINES, facts={"CreationDate": moment}), seconds=A_DAY)
        assert (extract.published_on, extract.title) == (None, None)


async def test_pages_over_the_limit_are_left_out() -> None:
    pages = [
        [f"This sentence stands on page number {number} of this very long report."]
        for number in range(1, 171)
    ]
    extract = await read_pdf(pdf(*pages), seconds=A_DAY)
    assert "page number 150 of" in extract.text
    assert "page number 151 of" not in extract.text


async def test_a_slow_pdf_ends_its_worker_which_has_no_keys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SERPER_API_KEY", "canary-of-a-key")
    data = await asyncio.to_thread(endless_pdf)
    # Seconds of this thread's CPU: on a busy machine the clock runs on while the loop waits.
    busy_before = time.thread_time()
    reading = asyncio.create_task(read_pdf(data, seconds=1.0))
    seen: list[bytes] = []
    while not reading.done():
        await asyncio.sleep(0.1)
        seen += await asyncio.to_thread(environments)
    with pytest.raises(
        UnavailableError, match="too long: the PDF could not be read within 1 seconds"
    ):
        await reading
    assert time.thread_time() - busy_before < 0.5
    assert await asyncio.to_thread(workers) == []
    assert seen
    assert not any(b"canary-of-a-key" in environment for environment in seen)


def workers() -> list[Path]:
    """Return the processes that read PDFs for this one; other tests have theirs meanwhile."""
    tasks = Path("/proc/self/task").glob("*/children")
    found = []
    for process in [Path("/proc", child) for task in tasks for child in task.read_text().split()]:
        with suppress(OSError):
            if b"pdf_worker.py" in (process / "cmdline").read_bytes():
                found.append(process)
    return found


def environments() -> list[bytes]:
    found = []
    for process in workers():
        with suppress(OSError):
            found.append((process / "environ").read_bytes())
    return found


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="-\u00ad\u2010"))))
def test_reflowing_loses_no_word(lines: list[str]) -> None:
    text = "\n".join(lines)
    assert "".join(reflow(text).split()) == "".join(text.split())


def test_a_script_without_spaces_gets_none_at_the_end_of_a_line() -> None:
    lines = "长城从月球上看不见、\n宇航员多次这样说。\n看不见。\n蜂蜜能保存很多年。"
    assert reflow(lines) == "长城从月球上看不见、宇航员多次这样说。看不见。\n蜂蜜能保存很多年。"


@given(st.text())
def test_reflowed_text_has_no_empty_line(text: str) -> None:
    flowed = reflow(text)
    assert flowed == "" or all(line.strip() for line in flowed.split("\n"))
