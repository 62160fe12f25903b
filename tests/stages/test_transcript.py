"""Transcripts: one stored text, raw offsets, and seconds."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from factible_assets.stages.transcript import Clock, readable
from resources.transcripts.base import Cue
from resources.transcripts.cleaning import one_line
from tests.stages.words import from_cues, from_text


@dataclass(frozen=True, slots=True)
class Said(Cue):
    start_seconds: float = 0.0
    duration_seconds: float = 1.0


def test_cues_are_joined_by_one_space() -> None:
    transcript, segments = from_cues("v", [Said("The first"), Said("second one", 2)])
    assert transcript.text == "The first second one"
    assert [(segment.char_start, segment.char_end) for segment in segments] == [(0, 9), (10, 20)]


cues = st.lists(
    st.builds(
        Said,
        st.text(max_size=12).map(one_line).filter(bool),
        st.floats(0, 1e4, allow_nan=False),
        st.floats(0, 10, allow_nan=False),
    ),
    min_size=1,
    max_size=12,
).map(lambda said: sorted(said, key=lambda cue: cue.start_seconds))


@given(cues)
def test_every_segment_s_offsets_give_its_own_words(said: list[Said]) -> None:
    transcript, segments = from_cues("v", said)
    for segment, cue in zip(segments, said, strict=True):
        assert transcript.text[segment.char_start : segment.char_end] == cue.text
        assert segment.start_seconds == cue.start_seconds


def test_a_plain_text_is_stored_without_unstorable_characters() -> None:
    assert from_text("v", "A  b\n\x00\ud800é").text == "A  b\n\ufffd\ufffdé"


def test_a_character_s_second_is_found_by_its_caption() -> None:
    _, segments = from_cues("v", [Said("0123456789", 10, 5), Said("0123456789", 20, 4)])
    clock = Clock(segments[::-1])
    assert [clock.start_at(position) for position in (0, 9, 10, 11, 99)] == [10, 10, 10, 20, 20]
    assert clock.second_at(0) == 10
    assert clock.second_at(5) == 12.5
    assert clock.second_at(10) == 15
    assert clock.second_at(11 + 5) == 22
    assert clock.second_at(99) == 24


def test_a_caption_that_overlaps_the_next_counts_until_the_next_begins() -> None:
    _, segments = from_cues("v", [Said("0123456789", 0, 9), Said("x", 4)])
    assert Clock(segments).second_at(10) == 4


def test_a_caption_before_one_without_a_time_counts_in_full() -> None:
    _, segments = from_cues("v", [Said("0123456789", 3, 9), Said("x", 4)])
    untimed = segments[1].model_copy(update={"start_seconds": None})
    assert Clock([segments[0], untimed]).second_at(10) == 12


def test_another_speaker_begins_a_paragraph_and_is_known_at_each_character() -> None:
    said = [Said("Is it?", speaker="Ann"), Said("No.", 2, speaker="Tom", new_turn=True)]
    transcript, segments = from_cues("v", said)
    assert transcript.text == "Is it?\n\nNo."
    clock = Clock(segments)
    assert [clock.speaker_at(position) for position in (0, 5, 8, 99)] == [
        "Ann",
        "Ann",
        "Tom",
        "Tom",
    ]
    assert transcript.text[segments[1].char_start : segments[1].char_end] == "No."


def test_a_text_without_times_may_have_speakers() -> None:
    _, segments = from_cues("v", [Cue("No.", None, speaker="Tom")])
    clock = Clock(segments)
    assert (clock.speaker_at(1), clock.start_at(1), clock.second_at(1)) == ("Tom", None, None)


CAPITALS = (
    'THE GREAT WALL OPENED IN 1937, AND I\'M SURE OF IT. "IT IS LONG!" I SAID. VITAMIN B12 IS IN '
    "THE U.S. DIET\n\nO'BRIEN, 19TH. ÉTÉ À PARIS."
)


def test_capitals_are_read_in_sentence_case_letter_by_letter() -> None:
    assert readable(CAPITALS) == (
        'The great wall opened in 1937, and I\'m sure of it. "It is long!" I said. Vitamin B12 is '
        "in the U.S. diet\n\nO'brien, 19th. Été à paris."
    )


def test_only_a_text_in_capitals_changes() -> None:
    for text in (
        CAPITALS.capitalize(),
        "NASA",
        "",
        "NASA and the UN met in the USA, said an FBI man.",
    ):
        assert readable(text) == text


@given(st.text(max_size=40))
def test_offsets_into_a_readable_text_are_those_of_the_raw_one(text: str) -> None:
    shown = readable(CAPITALS + text)
    assert len(shown) == len(CAPITALS) + len(text)


def test_an_untimed_transcript_has_no_seconds() -> None:
    assert Clock(()).start_at(3) is None
    assert Clock(()).second_at(3) is None


@given(cues, st.integers(0, 200), st.integers(0, 200))
def test_later_characters_are_never_said_earlier(said: list[Said], one: int, other: int) -> None:
    _, segments = from_cues("v", said)
    clock = Clock(segments)
    first, second = clock.second_at(min(one, other)), clock.second_at(max(one, other))
    assert first is not None
    assert second is not None
    assert first <= second + 1e-9
