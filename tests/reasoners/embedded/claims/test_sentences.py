"""Sentences of punctuated and of raw transcripts."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factible_assets.reasoners.embedded.claims.boundaries import LONGEST
from factible_assets.reasoners.embedded.claims.sentences import CERTAIN, split_sentences
from factible_assets.records.tables import TranscriptSegment


def _texts(text: str) -> list[str]:
    return [sentence.text for sentence in split_sentences(text)]


def test_sentences_end_at_stops() -> None:
    assert _texts("The ice melts. Does it matter? Yes!") == [
        "The ice melts.",
        "Does it matter?",
        "Yes!",
    ]


def test_a_text_of_one_long_sentence_is_punctuated() -> None:
    said = (
        "Nobody at the hospital has ever seen a child die of the vaccine that the state pays for."
    )
    assert _texts(said) == [said]


def test_marks_of_direction_hide_no_stop() -> None:
    said = "Bananas glow.\u200f Everest is 8,849 metres high.\u200e Goldfish\u202c forget."
    assert _texts(said) == ["Bananas glow.", "Everest is 8,849 metres high.", "Goldfish forget."]


@pytest.mark.parametrize(
    "text",
    [
        "The U.S. economy grew by 3.5 percent.",
        "Dr. Smith of St. Louis met J. R. Tolkien.",
        "It rose at 9 a.m. on Jan. 6 last year.",
        "Chanel No. 5 is a perfume.",
        "“What now?” she asked them all.",
        "We waited… and then it came.",
    ],
)
def test_dots_inside_a_sentence_do_not_end_it(text: str) -> None:
    assert _texts(text) == [text]


def test_an_abbreviation_ends_a_sentence_if_the_next_word_opens_one() -> None:
    assert len(_texts("They moved to the U.S. The family stayed there.")) == 2


@pytest.mark.parametrize("word", ["the Sun", "where he sat", "the day they wed", "no"])
def test_a_word_that_is_an_abbreviation_elsewhere_ends_its_sentence(word: str) -> None:
    assert len(_texts(f"Neptune is far from {word}. Vincent painted it.")) == 2


def test_a_letter_that_names_a_vitamin_is_no_initial() -> None:
    assert len(_texts("Scurvy comes from a lack of vitamin C. Sailors ate lemons.")) == 2


def test_closing_quotes_belong_to_their_sentence() -> None:
    assert _texts("He said “it is over.” Nobody spoke.") == [
        "He said “it is over.”",
        "Nobody spoke.",
    ]


def test_markers_are_skipped_and_stay_in_the_raw_text() -> None:
    raw = "[Music] The dam broke. >> Who says so? [HOST]: The mayor did. (applause)"
    sentences = split_sentences(raw)
    assert [each.text for each in sentences] == ["The dam broke.", "Who says so?", "The mayor did."]
    assert [raw[each.start : each.end] for each in sentences] == [each.text for each in sentences]


def test_a_marker_inside_a_sentence_is_left_out_of_its_reading_only() -> None:
    raw = "The dam [Music] broke at night."
    (sentence,) = split_sentences(raw)
    assert sentence.text == "The dam broke at night."
    assert raw[sentence.start : sentence.end] == raw


@pytest.mark.parametrize("words", ["not", "NOT", "the vaccine", "isn't"])
def test_words_of_the_sentence_in_brackets_are_no_marker(words: str) -> None:
    assert _texts(f"Doctors say [{words}] it was [applause] quite [door closes] safe.") == [
        f"Doctors say [{words}] it was quite safe."
    ]


def test_a_change_of_speaker_ends_a_sentence_without_a_stop() -> None:
    assert _texts("that is what he said >> no it is not what he said") == [
        "that is what he said",
        "no it is not what he said",
    ]


def test_changes_of_speaker_alone_do_not_make_a_transcript_punctuated() -> None:
    turns = [
        "do you think the vaccine helps",
        "yes it does it protects most children for twenty years we have looked at that for long",
        "so nobody has to be afraid",
    ]
    assert len(_texts(" >> ".join(turns))) > len(turns)
    debt = "well it is higher than ever in the U.S. and china owns a third of it nobody talks of it"
    assert len(_texts(debt)) > 1, "an abbreviation is no stop"


@pytest.mark.parametrize(
    "label",
    ["Reporter:", "Dr. Luis Ferrando:", "Interviewer:", "CHRIS LEE:", ">> CL:", "(Laughter) CL:"],
)
def test_the_label_of_a_speaker_is_a_marker(label: str) -> None:
    assert _texts(f"The harvest was poor. {label} We picked a third of it.") == [
        "The harvest was poor.",
        "We picked a third of it.",
    ]
    for said in ("Heart Disease: it kills 700,000.", "New Zealand: five percent of adults smoke."):
        assert _texts(said) == [said], "a heading and a country are no speakers"


def test_capitals_inside_a_sentence_are_no_speaker() -> None:
    said = "Prices rose in the EU: gas costs doubled in 2022."
    assert _texts(said) == [said]


RAW = (
    "the ocean covers most of the planet so it stores a great deal of heat but nobody measures "
    "the deep water every year scientists send new floats into the southern seas there's still a "
    "lot that we do not know about the currents now let's look at what the data says about this"
)


def test_raw_captions_are_cut_before_words_that_open_sentences() -> None:
    starts = {text.split()[0] for text in _texts(RAW)}
    assert {"so", "but", "there's"} <= starts


def test_raw_captions_are_never_cut_after_a_word_that_cannot_close_a_sentence() -> None:
    assert not {text.split()[-1] for text in _texts(RAW * 5)} & {"the", "of", "a", "into", "every"}


def test_raw_captions_become_sentences() -> None:
    raw = (
        "democracy is a system where the citizens of a country choose their leaders the word "
        "democracy comes from ancient greek it means that the people rule"
    )
    assert _texts(raw) == [
        "democracy is a system where the citizens of a country choose their leaders",
        "the word democracy comes from ancient greek",
        "it means that the people rule",
    ]


def test_punctuation_is_certain_and_the_model_reports_its_certainty() -> None:
    assert all(each.certainty == CERTAIN for each in split_sentences("It rained. It froze."))
    cut = split_sentences(RAW)
    assert len(cut) > 3
    assert all(0 < each.certainty < CERTAIN for each in cut)


def test_arbitrary_line_breaks_of_a_speech_recogniser_end_no_sentence() -> None:
    words = RAW.split()
    lines = [" ".join(words[start : start + 6]) for start in range(0, len(words), 6)]
    starts = [sum(len(line) + 1 for line in lines[:number]) for number in range(len(lines))]
    segments = [
        _segment(number, 2.0 * number, 2.0, start, start + len(line))
        for number, (start, line) in enumerate(zip(starts, lines, strict=True))
    ]
    cut = [each.text for each in split_sentences(RAW, segments)]
    assert cut == _texts(RAW)


def test_a_pause_ends_a_sentence_where_words_alone_would_not() -> None:
    words = "the mill stood by the river for years water drove its wheels day and night then"
    cut = words.index("water")

    def split_with_pause(seconds: float) -> set[int]:
        segments = [
            _segment(0, 0.0, 4.0, 0, cut - 1),
            _segment(1, 4.0 + seconds, 4.0, cut, len(words)),
        ]
        return {sentence.start for sentence in split_sentences(words, segments)}

    assert cut in split_with_pause(3.0)


def _segment(
    position: int, start: float, length: float, first: int, last: int
) -> TranscriptSegment:
    return TranscriptSegment(
        video_id="v",
        position=position,
        start_seconds=start,
        duration_seconds=length,
        char_start=first,
        char_end=last,
    )


def test_a_long_run_without_any_sign_is_cut_to_the_longest_length() -> None:
    assert all(len(text.split()) <= LONGEST for text in _texts("water " * 500))


def test_an_empty_transcript_has_no_sentences() -> None:
    assert split_sentences("") == []
    assert split_sentences(" [Music] \n") == []


_PIECES = st.sampled_from(
    ("The", "ice", "U.S.", "3.5", "melts.", "so", "why?", "[Music]", ">>", "\n\n", "\u00a0", "it's",
     "…")
)  # fmt: skip


@given(st.lists(_PIECES, max_size=120).map(" ".join) | st.text(max_size=300))
def test_sentences_lie_in_order_without_overlap_and_lose_no_word(text: str) -> None:
    sentences = split_sentences(text)
    assert all(0 <= each.start < each.end <= len(text) for each in sentences)
    assert all(left.end <= right.start for left, right in pairwise(sentences))
    for each in sentences:
        assert text[each.start : each.end].startswith(each.text.split(maxsplit=1)[0])
    covered = "".join(text[each.start : each.end] for each in sentences)
    if not set("[>♪:(") & set(text):
        assert "".join(covered.split()) == "".join(text.split())
