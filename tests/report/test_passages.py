from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from factible_assets.records.tables import Claim, TranscriptSegment
from factible_assets.report.passages import (
    WHOLE_CHARACTERS,
    excerpt,
    quote_place,
    transcript_paragraphs,
)
from tests.report.samples import PAGE, QUOTE, SENTENCES, TEXT, claim, evidence, segments, unread

ODD_TEXT = st.text(st.sampled_from("ab \n\té😀\u0301\u202e<&>\"'"), min_size=1, max_size=300)


def test_a_passage_has_the_words_around_its_quote() -> None:
    filler = "surroundings " * 100
    page = f"{filler}{QUOTE} {filler}"
    place = len(filler), len(filler) + len(QUOTE)
    first, before, quote, after, last = excerpt(page, [(*place, "e1")], around=220, whole=0)
    assert first.omitted
    assert last.omitted
    assert quote.text == QUOTE
    assert 100 < len(before.text) <= 220
    assert set(before.text.split()) | set(after.text.split()) == {"surroundings"}


def test_a_quote_has_a_place_only_if_the_stored_text_has_it_there() -> None:
    row = evidence(0, "a.example")
    assert quote_place(row, PAGE) == (row.quote_start, row.quote_end)
    assert quote_place(row, f"x{PAGE}") is None
    assert quote_place(row, "") is None
    assert quote_place(unread(0, "a.example", "skipped", "a rule"), PAGE) is None


@given(ODD_TEXT, st.integers(0, 100), st.data())
def test_a_passage_is_a_stretch_of_the_excerpt(text: str, around: int, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    runs = excerpt(text, [(start, end, "e1")], around, whole=0)
    stretch = "".join(run.text for run in runs)
    assert text[runs[0].omitted :].startswith(stretch)
    assert [run.text for run in runs if run.ids] == [text[start:end]]


def test_every_claim_is_marked_at_its_own_words() -> None:
    claims = [claim(number) for number in range(len(SENTENCES))]
    paragraphs = transcript_paragraphs(TEXT, segments(), claims)
    marked = {run.ids[0]: run.text for paragraph in paragraphs for run in paragraph.runs if run.ids}
    assert marked == {row.claim_id: row.text for row in claims}


def test_paragraphs_begin_at_captions_half_a_minute_apart() -> None:
    paragraphs = transcript_paragraphs(TEXT, segments(), ())
    assert [paragraph.start_seconds for paragraph in paragraphs] == [0.0, 30.0]
    assert paragraphs[1].runs[0].text.startswith(SENTENCES[3])


def test_paragraphs_of_an_untimed_transcript_have_no_times() -> None:
    text = "A line of words that goes on.\n" * 60
    paragraphs = transcript_paragraphs(text, (), ())
    assert len(paragraphs) > 1
    assert {paragraph.start_seconds for paragraph in paragraphs} == {None}


def test_overlapping_claims_share_a_run() -> None:
    first = claim(0, char_start=0, char_end=20)
    second = claim(1, char_start=10, char_end=30)
    runs = transcript_paragraphs(TEXT, (), [first, second])[0].runs
    assert [len(run.ids) for run in runs] == [1, 2, 1, 0]
    assert runs[1].text == TEXT[10:20]


@st.composite
def timed_texts(draw: st.DrawFn) -> tuple[str, tuple[TranscriptSegment, ...], tuple[Claim, ...]]:
    text = draw(ODD_TEXT)
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=12)))
    captions = tuple(
        TranscriptSegment(
            video_id="v",
            position=position,
            start_seconds=draw(st.floats(0, 500)),
            duration_seconds=1.0,
            char_start=left,
            char_end=right,
        )
        for position, (left, right) in enumerate(itertools.pairwise(cuts))
    )
    claims = []
    for number in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(text) - 1))
        end = draw(st.integers(start + 1, len(text) + 5))
        claims.append(claim(0, claim_id=f"c{number}", char_start=start, char_end=end))
    return text, captions, tuple(claims)


@given(timed_texts())
def test_paragraphs_join_to_the_transcript_and_marks_to_the_claims(
    case: tuple[str, tuple[TranscriptSegment, ...], tuple[Claim, ...]],
) -> None:
    text, captions, claims = case
    paragraphs = transcript_paragraphs(text, captions, claims)
    runs = [run for paragraph in paragraphs for run in paragraph.runs]
    assert "".join(run.text for run in runs) == text
    for row in claims:
        marked = "".join(run.text for run in runs if row.claim_id in run.ids)
        assert marked == text[row.char_start : row.char_end]


def test_a_short_stored_text_is_shown_whole_with_its_quote_marked() -> None:
    start = PAGE.index(QUOTE)
    runs = excerpt(PAGE, [(start, start + len(QUOTE), "e1")])
    assert "".join(run.text for run in runs) == PAGE
    assert [run.text for run in runs if run.ids == ("e1",)] == [QUOTE]


def test_a_long_text_shows_excerpts_and_counts_the_rest() -> None:
    filler = "words of a long page " * 2_000
    text = f"{filler}{QUOTE} {filler}{QUOTE}{filler}"
    first, last = len(filler), text.rindex(QUOTE)
    runs = excerpt(text, [(last, last + len(QUOTE), "b"), (first, first + len(QUOTE), "a")])
    assert [run.ids for run in runs if run.ids] == [("a",), ("b",)]
    assert [bool(run.omitted) for run in runs] == [True, *[False] * 3] * 2 + [True]
    shown = sum(len(run.text) for run in runs)
    assert shown < 15_000 < len(text) == shown + sum(run.omitted for run in runs)


def test_a_long_text_without_a_quote_shows_its_beginning() -> None:
    text = "words " * WHOLE_CHARACTERS
    beginning, _ = excerpt(text, [])
    assert text.startswith(beginning.text)
    assert 0 < len(beginning.text) <= WHOLE_CHARACTERS


@given(st.data())
def test_stored_text_loses_no_character_and_marks_every_quote(data: st.DataObject) -> None:
    text = data.draw(ODD_TEXT) * data.draw(st.sampled_from((1, 300)))
    spans = []
    for number in range(data.draw(st.integers(0, 3))):
        start = data.draw(st.integers(0, len(text) - 1))
        spans.append((start, data.draw(st.integers(start + 1, len(text))), f"e{number}"))
    position = 0
    marked = dict.fromkeys((name for _, _, name in spans), "")
    for run in excerpt(text, spans):
        assert text.startswith(run.text, position)
        position += len(run.text) + run.omitted
        for name in run.ids:
            marked[name] += run.text
    assert position == len(text)
    assert marked == {name: text[start:end] for start, end, name in spans}
