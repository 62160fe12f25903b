from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resources.transcripts.youtube_ids import NotAVideoLinkError, video_id_of, watch_url

IDS = st.text(
    alphabet="ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-",
    min_size=11,
    max_size=11,
).filter(lambda text: text not in {"videoseries", "live_stream"})

FORMS = (
    "{}",
    "  {}\n",
    "https://www.youtube.com/watch?v={}",
    "http://youtube.com/watch?v={}&t=42s",
    "https://www.youtube.com/watch?list=PL123&v={}&index=3",
    "https://m.youtube.com/watch?v={}&pp=abc",
    "https://music.youtube.com/watch?v={}&si=xyz",
    "https://youtu.be/{}?t=1m2s",
    "youtu.be/{}",
    "www.youtube.com/watch?v={}#comments",
    "//www.youtube.com/embed/{}",
    "https://www.youtube.com/shorts/{}?feature=share",
    "https://www.youtube.com/live/{}?si=a",
    "https://www.youtube.com/embed/{}?start=30",
    "https://www.youtube-nocookie.com/embed/{}",
    "https://www.youtube.com/v/{}",
    "https://WWW.YouTube.com:443/watch/?v={}",
    "https://www.youtube.com/attribution_link?a=x&u=%2Fwatch%3Fv%3D{}%26feature%3Dshare",
)


@pytest.mark.parametrize("form", FORMS)
@given(video_id=IDS)
def test_every_form_of_a_link_gives_the_video_id(form: str, video_id: str) -> None:
    assert video_id_of(form.format(video_id)) == video_id


@given(video_id=IDS)
def test_the_watch_address_of_an_id_leads_back_to_it(video_id: str) -> None:
    assert video_id_of(watch_url(video_id)) == video_id


@pytest.mark.parametrize(
    ("link", "sentence"),
    [
        ("", "is not a YouTube link"),
        ("talk.vtt", "is not a YouTube link"),
        ("https://vimeo.com/12345678901", "is not a YouTube link"),
        ("https://youtube.com.evil.test/watch?v=AAAAAAAAAAA", "is not a YouTube link"),
        ("https://youtube.com@evil.test/watch?v=AAAAAAAAAAA", "is not a YouTube link"),
        ("javascript://youtube.com/watch?v=AAAAAAAAAAA", "is not a YouTube link"),
        ("https://[::1/watch?v=AAAAAAAAAAA", "is not a web address"),
        ("https://www.youtube.com/playlist?list=PLAAAAAAAAAAA", "a playlist, not a video"),
        ("https://www.youtube.com/embed/videoseries?list=PLAAAA", "a playlist, not a video"),
        ("https://www.youtube.com/@somebody", "a channel, not a video"),
        ("https://www.youtube.com/channel/UCAAAAAAAAAAAAAAAAAAAAAA", "a channel, not a video"),
        ("https://www.youtube.com/embed/live_stream", "no video id of 11 characters"),
        ("https://www.youtube.com/watch?v=short", "no video id of 11 characters"),
        ("https://www.youtube.com/watch?v=AAAAAAAAAAAA", "no video id of 11 characters"),
        ("https://www.youtube.com/results?search_query=AAAAAAAAAAA", "no video id"),
        (
            "https://www.youtube.com/attribution_link?u=https%3A%2F%2Fevil.test%2Fwatch",
            "leads away from YouTube",
        ),
        ("https://www.youtube.com/attribution_link?u=//[", "is not a web address"),
        (f"https://www.youtube.com{'/attribution_link?u=' * 2_000}", "no video id"),
    ],
)
def test_other_links_are_refused_with_advice(link: str, sentence: str) -> None:
    with pytest.raises(NotAVideoLinkError) as refusal:
        video_id_of(link)
    assert sentence in str(refusal.value)
    assert "watch?v=VIDEO_ID" in str(refusal.value)
    assert "its transcript or its recording" in str(refusal.value)


@given(st.text(max_size=60))
def test_no_text_whatever_breaks_the_recognition(text: str) -> None:
    with contextlib.suppress(NotAVideoLinkError):
        assert len(video_id_of(text)) == 11
