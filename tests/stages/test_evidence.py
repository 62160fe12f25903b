"""The stored text of a page, and the rows of evidence."""

from __future__ import annotations

from datetime import date

import pytest

from factible_assets.stages.evidence import is_later, store_page
from factible_assets.stages.ids import content_hash
from resources.pages.base import FetchedPage
from tests.stages.test_quotes import PAGE
from tests.stages.test_reliability import a_hit
from tests.stages.world import VIDEO, page

# --- Pages --------------------------------------------------------------------------------------


def test_a_readable_page_is_stored_with_its_text_and_its_own_hash() -> None:
    fetched = page("u", text=PAGE)
    row, text = store_page(a_hit("https://a.example/x"), fetched)
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
    row, text = store_page(a_hit("https://a.example/x"), fetched)
    assert (row.status, row.content_hash, text) == (status, None, "")
    assert row.reason


def test_a_page_without_the_promised_words_is_due() -> None:
    title = "Is the Great Wall visible?"
    snippet = "Jun 2, 2024 · No structure built by people is visible, astronauts reported in 1970."
    hit = a_hit("https://a.example/x").model_copy(update={"title": title, "snippet": snippet})
    notice = page("u", text=f"{title}\nVi är snart tillbaka. Just nu uppdaterar vi webbplatsen.")
    row, text = store_page(hit, notice)
    assert (row.status, row.content_hash, text) == ("infra_error", None, "")
    assert "another page came" in (row.reason or "")
    told = "Asked again in June, they held to it: no structure built by people is visible. "
    article = page("u", text=f"{told * 3}The astronauts had reported it in 1970.")
    assert store_page(hit, article)[0].status == "ok"


def test_a_page_from_after_the_video_is_later() -> None:
    dated = VIDEO.model_copy(update={"published_on": date(2020, 5, 1)})
    assert is_later(date(2020, 5, 2), dated)
    assert not is_later(date(2020, 5, 1), dated)
    assert not is_later(None, dated)
    assert not is_later(date(2020, 5, 2), VIDEO.model_copy(update={"published_on": None}))
