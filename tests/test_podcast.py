"""A podcast's feed as a corpus."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from factible_assets.corpora.format import CorpusError
from factible_assets.corpora.podcast import entry_of, list_feed
from factible_assets.corpora.reading import load_corpus
from resources.transcripts.podcast import Episode, Feed

ADDRESS = "https://pods.example/feed.xml"
WALLS = Episode(
    "a-1",
    "Walls",
    page_url="https://pods.example/1",
    published_on=date(2025, 3, 4),
    duration_seconds=600.0,
    recording_url="https://pods.example/walls.mp3",
)
BATS = Episode("a-2", "Bats", transcript_url="https://pods.example/bats.vtt")


def feed(*episodes: Episode) -> Feed:
    return Feed("Everyday Talks", "en", episodes, without_words=0, beyond_limit=0)


def test_every_episode_is_an_entry_with_its_links(tmp_path: Path) -> None:
    file = tmp_path / "talks.yaml"
    done = list_feed(file, feed(BATS, WALLS), ADDRESS, web="archive")
    (corpus,) = load_corpus(file).corpora
    assert corpus.web == "archive"
    walls, bats = corpus.videos
    assert done.added == (walls.video.video_id, bats.video.video_id)
    assert walls.video.channel == "Everyday Talks"
    assert walls.video.published_on == date(2025, 3, 4)
    assert walls.entry.recording_url == "https://pods.example/walls.mp3"
    assert bats.entry.transcript_url == "https://pods.example/bats.vtt"


def test_adding_a_feed_again_adds_new_episodes_and_keeps_the_rest(tmp_path: Path) -> None:
    file = tmp_path / "talks.yaml"
    list_feed(file, feed(WALLS), ADDRESS)
    file.write_text("# mine\n" + file.read_text("utf-8"), "utf-8")
    assert len(list_feed(file, feed(BATS), ADDRESS).added) == 1
    assert list_feed(file, feed(BATS, WALLS), ADDRESS).added == ()
    assert file.read_text("utf-8").startswith("# mine\n")
    assert len(load_corpus(file).corpora[0].videos) == 2


def test_of_a_long_feed_the_first_episodes_are_taken(tmp_path: Path) -> None:
    done = list_feed(tmp_path / "talks.yaml", feed(BATS, WALLS), ADDRESS, limit=1)
    assert done.added == (entry_of(BATS, feed()).video_id,)


def test_a_corpus_of_something_else_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "talks.yaml"
    list_feed(file, feed(WALLS), ADDRESS)
    before = file.read_text("utf-8")
    with pytest.raises(CorpusError, match="--corpus"):
        list_feed(file, feed(BATS), "https://other.example/feed.xml")
    assert file.read_text("utf-8") == before


def test_an_episode_whose_page_is_a_youtube_video_keeps_its_own_id() -> None:
    episode = Episode("a-3", "Moon", page_url="https://youtu.be/AAAAAAAAAAA", recording_url=ADDRESS)
    entry = entry_of(episode, feed())
    assert entry.url is None
    assert entry.video_id.startswith("everyday-talks-")


def test_a_renamed_feed_adds_only_its_new_episodes(tmp_path: Path) -> None:
    file = tmp_path / "talks.yaml"
    list_feed(file, feed(WALLS), ADDRESS)
    renamed = replace(feed(BATS, WALLS), title="Talks for Today")
    assert list_feed(file, renamed, ADDRESS).added == (entry_of(BATS, renamed).video_id,)


def test_an_unusable_episode_is_refused_with_the_name_of_its_field() -> None:
    with pytest.raises(CorpusError, match=r"'Bats' cannot be listed: duration_seconds is not"):
        entry_of(replace(BATS, duration_seconds=1e9), feed())
