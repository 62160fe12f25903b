"""A page is what the search promised: true pages keep their promise, and no notice keeps one."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from resources.pages.base import FetchedPage, Via
from resources.promises import Promise, breach_of, enforce, is_notice
from tests.shared_data import shared_data

FORMS = yaml.safe_load(Path(__file__).with_name("forms.yaml").read_text("utf-8"))
URL = "https://a.example/2024/great-wall-visible"
TITLE = "Is the Great Wall visible from the Moon? | The Daily"
SNIPPET = (
    "Jun 2, 2024 · No structure built by people can be recognised from there, astronauts of the "
    "Apollo missions reported in 1970 ..."
)
OFFER = Promise(TITLE, SNIPPET)
ARTICLE = (
    "Visitors ask it every summer. No structure built by people can be recognised from there, "
    "astronauts of the Apollo missions reported in 1970, and nobody has contradicted them since. "
    "The wall is long, but seldom wider than a road, and has the colour of the hills around it."
)


def page(text: str, *, title: str = "", url: str = URL, via: Via = "scraped") -> FetchedPage:
    return FetchedPage(url, "ok", datetime.now(UTC), final_url=url, via=via, title=title, text=text)


def recorded() -> list[tuple[Promise, FetchedPage]]:
    """Return each recorded page with every title and snippet that a search offered it with."""
    folder = shared_data("recorded_web")
    stored = map(json.loads, (folder / "pages.jsonl").read_text("utf-8").splitlines())
    pages: dict[str, Any] = {each["url"]: each for each in stored}
    searches = map(json.loads, (folder / "hits.jsonl").read_text("utf-8").splitlines())
    offers = {
        (hit["url"], hit["title"], hit["snippet"] or ""): None
        for search in searches
        for hit in search["hits"]
        if hit["url"] in pages
    }
    return [
        (Promise(title, snippet), page(pages[url]["text"], title=pages[url]["title"], url=url))
        for url, title, snippet in offers
    ]


def test_hardly_any_recorded_page_breaks_its_promise() -> None:
    pairs = recorded()
    due = [held.url for promise, held in pairs if breach_of(promise, held)]
    assert len(pairs) > 300
    assert len(due) <= 0.02 * len(pairs), due


@pytest.mark.parametrize("kind", ["known", "unseen"])
def test_no_notice_passes_for_a_recorded_page(kind: str) -> None:
    """Each form stands in the place of 24 pages, alone and below the title that was found."""
    offers = cycle((promise, held.url) for promise, held in recorded())
    passed = [
        text[:60]
        for _, text in FORMS[kind]
        for promise, url in islice(offers, 24)
        for title, shown in (("", text), (promise.title, f"{promise.title}\n{text}"))
        if breach_of(promise, page(shown, title=title, url=url)) is None
    ]
    assert len(passed) <= 0.01 * len(FORMS[kind]) * 48, passed


def test_the_page_that_was_found_keeps_its_promise() -> None:
    assert breach_of(OFFER, page(ARTICLE, title=TITLE)) is None
    held = page(ARTICLE)
    assert enforce(OFFER, held) is held


@pytest.mark.parametrize(("title", "snippet", "text"), FORMS["pages"])
def test_pages_of_any_script_keep_their_promise_and_notices_of_that_script_do_not(
    title: str, snippet: str, text: str
) -> None:
    promise = Promise(title, snippet)
    assert breach_of(promise, page(text, title=title)) is None
    passed = [
        form
        for _, form in (*FORMS["known"], *FORMS["unseen"])
        if breach_of(promise, page(f"{title}\n{form}", title=title)) is None
    ]
    assert passed == []


@pytest.mark.parametrize(
    "text",
    [
        "We install updates. Be back in a bit.",
        f"{TITLE}\nWe install updates. Be back in a bit.",
        "No results for: is the great wall visible from moon. Check the spelling, or use fewer.",
        f"The page {TITLE} was moved to our archive, which opens on Monday for subscribers.",
    ],
)
def test_a_title_that_a_notice_repeats_keeps_no_promise(text: str) -> None:
    assert "another page came" in (breach_of(OFFER, page(text, title=TITLE)) or "")


def test_a_beginning_that_is_hardly_longer_than_its_snippet_is_a_part() -> None:
    began = f"{SNIPPET[15:]} Read on with a subscription."
    assert "a part of the page" in (breach_of(OFFER, page(began, title=TITLE)) or "")
    # The snippet of an archive is taken from the text, however short that is.
    assert breach_of(OFFER, page(began, title=TITLE, via="archive")) is None


def test_a_long_page_keeps_its_promise_if_its_snippet_is_from_a_menu() -> None:
    menu = "Ten soups for winter Subscribe Which mattress is best? Our most popular recipes ..."
    text = "The Great Wall cannot be seen. A wall as wide as a road is not visible so far. " * 9
    assert breach_of(Promise(TITLE, menu), page(text, title=TITLE)) is None
    other = "Personal data are used by partners who measure how readers use the service. " * 12
    assert breach_of(Promise(TITLE, menu), page(other, title=TITLE)) is not None


def test_without_a_promise_every_page_is_accepted() -> None:
    notice = "Be back in a bit."
    for promise in (Promise("", ""), Promise("Found", ""), Promise("", "A word.")):
        assert breach_of(promise, page(notice, url="https://a.example/x")) is None
    assert enforce(None, page(notice)).outcome == "ok"


def test_a_title_alone_is_a_promise_to_a_short_page() -> None:
    promise = Promise(TITLE, "")
    assert breach_of(promise, page("We install updates. Be back in a bit.")) is not None
    assert breach_of(promise, page("The wall is not visible, say those who were there.")) is None
    assert breach_of(promise, page("We install updates. Be back in a bit.", via="archive")) is None
    assert breach_of(promise, page("Long reads have words of their own. " * 20)) is None


def test_a_sentence_that_begins_with_the_title_keeps_a_promise_without_snippet() -> None:
    promise = Promise("Photosynthesis in plants - Britannica", "")
    text = "Photosynthesis in plants turns light into sugar. Leaves take in carbon dioxide."
    assert breach_of(promise, page(text, url="https://a.example/x")) is None
    notice = "Photosynthesis in plants\nWe install updates. Be back in a bit."
    assert breach_of(promise, page(notice, url="https://a.example/x")) is not None


def test_a_short_snippet_is_a_promise_to_a_short_page() -> None:
    promise = Promise("Is it visible?", "Astronauts saw no wall from there.")
    assert breach_of(promise, page("We install updates. Be back in a bit.")) is not None
    assert breach_of(promise, page("No wall, the astronauts report, was in sight.")) is None


def test_a_broken_promise_is_an_outage_without_a_text() -> None:
    held = enforce(OFFER, page("We install updates. Be back in a bit."))
    assert (held.outcome, held.text) == ("outage", "")
    assert held.reason


def test_one_text_for_two_titles_of_a_site_belongs_to_neither_that_it_does_not_keep() -> None:
    front = page("News of today: ministers, markets, weather, and a late goal. " * 20)
    other = Promise("Do goldfish forget? | The Daily", "")
    assert is_notice(Promise(TITLE, ""), front, other)
    assert not is_notice(Promise(TITLE, ""), front, Promise(TITLE.upper(), ""))
    assert not is_notice(OFFER, page(ARTICLE), other)


@given(st.text(max_size=300), st.text(max_size=200), st.text(max_size=200))
def test_any_texts_can_be_compared(text: str, title: str, snippet: str) -> None:
    breach_of(Promise(title, snippet), page(text, title=title))
    is_notice(Promise(title, snippet), page(text), Promise(snippet, title))


@pytest.mark.parametrize(
    "piece",
    ["A. ", " ", "\u0301", "ab ", "糖", TITLE + " ", "- ", "ส", "a\u0300", "\n", "1", "|", "_"],
)
def test_a_text_of_anything_is_compared_in_linear_time(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    started = time.process_time()
    breach_of(Promise(text, text), page(text, title=text))
    breach_of(OFFER, page(text, title=TITLE))
    is_notice(OFFER, page(text), Promise(text, text))
    assert time.process_time() - started < 8
