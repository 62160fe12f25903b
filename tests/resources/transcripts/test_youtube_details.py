"""What a watch page and oEmbed say about a video."""

from __future__ import annotations

import json
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resources.transcripts.base import VideoDetails
from resources.transcripts.youtube import details_from_watch_page
from tests.resources.transcripts.fake_youtube import watch_page

SCHEMA_ORG = (
    '<div itemscope><meta itemprop="name" content="Sugar &amp; children">'
    '<meta itemprop="duration" content="PT1H2M3S">'
    '<link itemprop="name" content="The Channel">'
    '<meta itemprop="datePublished" content="2009-10-24T23:57:33-07:00"></div>'
)


def page(player: object) -> str:
    return f"<script>var ytInitialPlayerResponse = {json.dumps(player)};</script>"


def test_the_player_response_says_everything() -> None:
    assert details_from_watch_page(watch_page()) == VideoDetails(
        title="Sugar & “children”; a talk",
        channel="The Channel",
        duration_seconds=213.0,
        published_on=date(2021, 3, 5),
    )


def test_the_schema_org_items_fill_in_for_it() -> None:
    details = details_from_watch_page(SCHEMA_ORG)
    assert (details.title, details.duration_seconds) == ("Sugar & children", 3723.0)
    assert details.published_on == date(2009, 10, 24)


@pytest.mark.parametrize(
    "player",
    [
        [],
        {"videoDetails": "x", "microformat": 3},
        {"videoDetails": {"title": 3, "author": None, "lengthSeconds": "soon"}},
        {"videoDetails": {"title": " ", "lengthSeconds": "0"}},
        {"videoDetails": {"lengthSeconds": "nan"}},
        {"videoDetails": {"lengthSeconds": True}},
        {"microformat": {"playerMicroformatRenderer": {"publishDate": "2021-02-30"}}},
    ],
)
def test_what_is_damaged_is_unknown(player: object) -> None:
    assert details_from_watch_page(page(player)) == VideoDetails()


@pytest.mark.parametrize("duration", ["PT", "P1Y", "3:33", "PT-3S", ""])
def test_a_duration_of_another_form_is_unknown(duration: str) -> None:
    items = f'<meta itemprop="duration" content="{duration}">'
    assert details_from_watch_page(items).duration_seconds is None


def test_a_page_that_is_cut_off_is_unknown() -> None:
    assert details_from_watch_page(watch_page()[:200]) == VideoDetails()
    nested = "var ytInitialPlayerResponse = " + '{"a":' * 100_000
    assert details_from_watch_page(nested) == VideoDetails()


@given(st.text() | st.binary().map(lambda raw: raw.decode("latin-1")))
def test_any_page_yields_details(text: str) -> None:
    assert isinstance(details_from_watch_page(text + SCHEMA_ORG + text), VideoDetails)
