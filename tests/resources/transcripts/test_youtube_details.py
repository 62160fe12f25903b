"""The details of a video in its watch page."""

from __future__ import annotations

import json
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resources.transcripts.base import VideoDetails
from resources.transcripts.youtube import details_of
from tests.resources.transcripts.fake_youtube import watch_page

UNKNOWN = VideoDetails(
    problems=("YouTube does not say the length or the day of publication of the video.",)
)


def page(player: object) -> str:
    return f"<script>var ytInitialPlayerResponse = {json.dumps(player)};</script>"


def test_the_player_response_says_everything() -> None:
    assert details_of({}, watch_page()) == VideoDetails(
        title="Sugar & “children”; a talk",
        channel="The Channel",
        duration_seconds=213.0,
        published_on=date(2021, 3, 5),
    )


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
    assert details_of({}, page(player)) == UNKNOWN


def test_a_page_that_is_cut_off_is_unknown() -> None:
    assert details_of({}, watch_page()[:200]) == UNKNOWN
    nested = "var ytInitialPlayerResponse = " + '{"a":' * 100_000
    assert details_of({}, nested) == UNKNOWN


@given(st.text() | st.binary().map(lambda raw: raw.decode("latin-1")))
def test_any_page_yields_details(text: str) -> None:
    assert isinstance(details_of({}, text + watch_page() + text), VideoDetails)
