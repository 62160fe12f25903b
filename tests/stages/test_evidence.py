"""The stored text of a page, and the rows of evidence."""

from __future__ import annotations

import time
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factible_assets.stages.evidence import is_later, keep_relevant, store_page
from factible_assets.stages.ids import content_hash
from factible_assets.stages.quotes import check_words, whole_sentences
from resources.pages.base import FetchedPage
from tests.stages.test_quotes import PAGE, draft
from tests.stages.test_reliability import a_hit
from tests.stages.world import VIDEO, page

# --- Pages --------------------------------------------------------------------------------------


def test_a_readable_page_is_stored_with_its_text_and_its_own_hash() -> None:
    fetched = page("u", text=PAGE)
    row, text = store_page(a_hit("https://a.example/x"), fetched, limit=9_999, topics=[])
    assert text == PAGE
    assert row.content_hash == content_hash(PAGE)
    assert (row.status, row.domain) == ("ok", "a.example")


@pytest.mark.parametrize(
    ("fetched", "status"),
    [
        (page("u", "absent", reason="gone"), "no_evidence"),
        (page("u", "unavailable", reason="the site answered 403"), "infra_error"),
        (page("u", text=" \n"), "infra_error"),
        (page("u", "outage", reason="reset"), "infra_error"),
        (page("u", "outage", text="half a page", reason="cut off"), "infra_error"),
    ],
)
def test_a_page_without_text_says_why_and_is_due_unless_the_site_says_that_there_is_none(
    fetched: FetchedPage, status: str
) -> None:
    row, text = store_page(a_hit("https://a.example/x"), fetched, limit=9_999, topics=[])
    assert (row.status, row.content_hash, text) == (status, None, "")
    assert row.reason


def test_a_page_without_the_promised_words_is_due() -> None:
    title = "Is the Great Wall visible?"
    snippet = "Jun 2, 2024 · No structure built by people is visible, astronauts reported in 1970."
    hit = a_hit("https://a.example/x").model_copy(update={"title": title, "snippet": snippet})
    notice = page("u", text=f"{title}\nVi är snart tillbaka. Just nu uppdaterar vi webbplatsen.")
    row, text = store_page(hit, notice, limit=9_999, topics=[])
    assert (row.status, row.content_hash, text) == ("infra_error", None, "")
    assert "another page came" in (row.reason or "")
    told = "Asked again in June, they held to it: no structure built by people is visible. "
    article = page("u", text=f"{told * 3}The astronauts had reported it in 1970.")
    assert store_page(hit, article, limit=9_999, topics=[])[0].status == "ok"


def test_a_page_under_the_limit_is_kept_whole() -> None:
    assert keep_relevant(PAGE, len(PAGE), ["anything"]) == PAGE


def test_a_long_page_keeps_its_parts_on_the_topics() -> None:
    menu = "Home About Contact Subscribe\n" * 300
    passage = "Glaciers in the Alps lost half of their volume.\n"
    kept = keep_relevant(menu + passage + menu, 4_000, ["Alpine glaciers lost volume"])
    assert passage in kept
    assert "[…]" in kept
    assert len(kept) <= 4_000


@given(st.text(max_size=6_000), st.integers(1_000, 3_000))
def test_the_kept_text_is_from_the_page_and_within_the_limit(text: str, limit: int) -> None:
    kept = keep_relevant(text, limit, ["some words of a topic"])
    assert len(kept) <= limit or kept == text
    if "[…]" not in text:
        assert all(part in text for part in kept.split("\n[…]\n"))


def test_a_page_from_after_the_video_is_later() -> None:
    dated = VIDEO.model_copy(update={"published_on": date(2020, 5, 1)})
    assert is_later(date(2020, 5, 2), dated)
    assert not is_later(date(2020, 5, 1), dated)
    assert not is_later(None, dated)
    assert not is_later(date(2020, 5, 2), VIDEO.model_copy(update={"published_on": None}))


@pytest.mark.parametrize(
    "piece", ["A. ", "\n ", '"', "\u201c", '"a', "Mr. ", "1.", "…", "糖。", "x "]
)
def test_a_text_of_one_piece_is_quoted_and_cut_in_linear_time(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    started = time.process_time()
    keep_relevant(text, 20_000, ["Sugar makes children hyperactive"])
    check_words(draft("supports", text, text[:500], "Bats are blind.", summary=text), text)
    assert whole_sentences(f"{text}word{text}", len(text), len(text) + 4)
    assert time.process_time() - started < 10
