"""Which sentences become claims."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from factible_assets.reasoners.embedded.claims import boundaries
from factible_assets.reasoners.embedded.claims.checkworthiness import (
    categorise,
    count_words,
    worth_of,
)
from factible_assets.reasoners.embedded.claims.claim_text import trim, write_claim
from factible_assets.reasoners.embedded.claims.selection import extract_claims, says_the_same
from factible_assets.reasoners.embedded.claims.sentences import Sentence, split_sentences
from factible_assets.reasoners.embedded.claims.statements import independent_parts, withdrawn
from factible_assets.reasoners.embedded.embedder import Embedder, Vectors, minilm
from factible_assets.records.tables import Transcript
from factible_assets.stages.ports import ClaimDrafts, ReasonerRefusalError

TALK = (
    "Hello everyone and welcome back to the channel! Today I want to talk about coffee. "
    "I really love the smell of it in the morning. So, you know, coffee contains more than one "
    "thousand chemical compounds. Caffeine blocks the adenosine receptors of the brain and so "
    "reduces tiredness. Isn't that amazing? A cup of coffee contains about 95 milligrams of "
    "caffeine. The average cup of coffee holds roughly 95 milligrams of caffeine. People in "
    "Finland drink 12 kilograms of coffee per person every year, which is more than in any other "
    "country. Please subscribe and hit the bell. Coffee was first exported from the port of Mocha "
    "in Yemen in the 15th century. Drinking coffee late in the day causes poor sleep in most "
    "adults. It is dangerous. What do you think? See you next time!"
)


def _extract(text: str, limit: int = 5, embedder: Embedder | None = None) -> ClaimDrafts:
    return extract_claims(
        Transcript(video_id="v", text=text, provider="file", content_hash="0"),
        (),
        max_claims=limit,
        embedder=embedder or minilm(),
    )


def test_facts_become_claims_and_talk_does_not() -> None:
    texts = " ".join(claim.text for claim in _extract(TALK).claims)
    assert "Finland" in texts
    for talk in ("subscribe", "Hello", "love the smell", "What do you think", "amazing"):
        assert talk not in texts


def test_talk_is_no_claim_however_many_are_asked_for() -> None:
    talk = (
        "Good evening everybody. Canberra is the capital of Australia. Thanks for watching. "
        "Penicillin was discovered by Alexander Fleming in 1928. See you next week!"
    )
    assert sorted(claim.text for claim in _extract(talk, limit=10).claims) == [
        "Canberra is the capital of Australia.",
        "Penicillin was discovered by Alexander Fleming in 1928.",
    ]


def test_offsets_of_claims_index_the_raw_text() -> None:
    for claim in _extract(TALK).claims:
        assert claim.char_start is not None
        assert claim.char_end is not None
        said = TALK[claim.char_start : claim.char_end]
        assert claim.text.rstrip(".").casefold() == said.rstrip(".").casefold()


def test_claims_come_in_order_of_importance_within_range() -> None:
    importances = [claim.importance for claim in _extract(TALK).claims]
    assert importances == sorted(importances, reverse=True)
    assert all(0 <= importance <= 1 for importance in importances)


def test_a_fact_in_other_words_is_one_claim() -> None:
    assert sum("95 milligrams" in claim.text for claim in _extract(TALK, limit=10).claims) == 1


def test_claims_do_not_overlap() -> None:
    spans = sorted((c.char_start or 0, c.char_end or 0) for c in _extract(TALK, limit=10).claims)
    assert spans
    assert all(left[1] <= right[0] for left, right in pairwise(spans))


GERMAN = (
    "Willkommen zu unserem Vortrag über das Klima. Die Temperatur der Erde ist in den letzten "
    "hundert Jahren um mehr als ein Grad gestiegen, und das war vor allem der Mensch. Man kann es "
    "in den Daten sehen, die wir in der Arktis sammeln."
)


@pytest.mark.parametrize("text", [GERMAN, "地球的温度在过去一百年里上升了一度多。" * 4])
def test_a_transcript_in_another_language_is_refused(text: str) -> None:
    with pytest.raises(ReasonerRefusalError, match="not in English"):
        _extract(text)


def test_a_transcript_without_words_has_neither_thesis_nor_claims() -> None:
    assert _extract("[Music] [Applause]") == ClaimDrafts(thesis=None, claims=())


def test_a_claim_with_a_pronoun_has_the_sentence_before_it_as_context() -> None:
    text = "Sulphur is released by a crushed clove. These vapours kill 90 percent of bacteria."
    contexts = {claim.text: claim.context for claim in _extract(text).claims}
    assert contexts["These vapours kill 90 percent of bacteria."] == (
        "Sulphur is released by a crushed clove."
    )


def test_the_words_of_a_sentence_are_counted_by_kind() -> None:
    counts = count_words("I think they say that 3 of these 10 rivers are dry in 2020.")
    assert (counts.numbers, counts.first_person, counts.pointing) == (2, True, 3)
    assert count_words("It kills bacteria.").needs_context
    assert count_words("A crushed clove kills bacteria in this way.").needs_context
    assert not count_words("Garlic kills bacteria when it is crushed.").needs_context


@pytest.mark.parametrize("asked", ["Is garlic healthy?", "why is garlic healthy", "does it help"])
def test_a_question_is_recognised_without_its_mark(asked: str) -> None:
    assert count_words(asked).is_question
    assert not count_words("what we see is that garlic is healthy").is_question


def test_a_statement_about_the_world_is_worth_more_than_talk() -> None:
    worth = worth_of(
        minilm().embed(
            [
                "Grab your passport, we're heading south.",
                "Pens down, ears open, here we go.",
                "Saffron is picked from the flowers of a crocus.",
                "Vaccines cause autism.",
            ]
        )
    )
    assert worth.shape == (4,)
    assert worth[:2].max() < -2 < -0.5 < worth[2:].min()


def test_the_category_follows_from_figures_years_and_comparison() -> None:
    for text, category in {
        "Nine of 10 rivers are dry.": "statistical",
        "Napoleon was crowned in 1804.": "historical",
        "Hot water freezes faster than cold water.": "comparative",
        "Vaccines cause autism.": "factual",
    }.items():
        assert categorise(text) == category


# --- Saying the same ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Coffee raises blood pressure.", "Coffee does not raise blood pressure."),
        ("The tower is 330 metres high.", "The tower is 300 metres high."),
        ("Coffee raises blood pressure.", "Coffee lowers blood pressure."),
    ],
)
def test_denials_other_figures_and_contrasts_are_different_claims(one: str, other: str) -> None:
    assert not says_the_same(one, other)
    talk = f"{one} The river Rhine flows through Germany and the Netherlands. {other}"
    assert {one, other} <= {claim.text for claim in _extract(talk, limit=5).claims}


def test_the_same_figure_in_other_words_is_the_same_claim() -> None:
    assert says_the_same(
        "A cup of coffee contains about 95 milligrams of caffeine.",
        "The average cup of coffee holds roughly 95 milligrams of caffeine.",
    )


def test_claims_beyond_the_limit_are_counted() -> None:
    everything = _extract(TALK, limit=50)
    some = _extract(TALK, limit=2)
    assert everything.left_out == 0
    assert len(some.claims) == 2
    assert some.left_out >= len(everything.claims) - 2 > 0


# --- Withdrawn statements -----------------------------------------------------------------------


def _withdrawn(said: str) -> list[str]:
    sentences = split_sentences(said)
    marks = zip(sentences, withdrawn(said, sentences), strict=True)
    return [sentence.text for sentence, is_withdrawn in marks if is_withdrawn]


@pytest.mark.parametrize(
    "said",
    [
        "You might think that goldfish forget everything.",
        "Now, you'd probably assume goldfish forget everything.",
    ],
)
def test_beliefs_of_the_listener_are_withdrawn(said: str) -> None:
    assert _withdrawn(f"{said} Carp live for decades.") == [said]


@pytest.mark.parametrize(
    "denial",
    ["But no.", "No, they learn quickly.", "Wrong!", "That's not true.", "They don't.", "A myth."],
)
def test_a_statement_before_a_bare_denial_is_withdrawn(denial: str) -> None:
    said = "Goldfish forget everything within three seconds."
    assert said in _withdrawn(f"{said} {denial} Carp live for decades.")
    claims = _extract(f"Carp live for 30 years. {said} {denial}").claims
    assert said not in {claim.text for claim in claims}


@pytest.mark.parametrize(
    "after",
    [
        "That is not wrong.",
        "And that's not all.",
        "No fish lives longer.",
        "I don't know why.",
        "Isn't that true?",
        "They do not live long in a bowl.",
    ],
)
def test_other_negations_withdraw_nothing(after: str) -> None:
    assert _withdrawn(f"Goldfish forget everything within three seconds. {after}") == []


def test_the_denial_of_another_speaker_withdraws_nothing() -> None:
    assert _withdrawn(">> Smoking causes lung cancer in adults. >> No.") == []


@pytest.mark.parametrize("answer", ["No.", "No. None at all.", "No, it does not.", "It doesn't."])
def test_a_no_confirms_a_denial(answer: str) -> None:
    said = "The vaccine does not cause autism in children."
    assert _withdrawn(f"{said} {answer}") == []
    assert said in _withdrawn(f"{said} No, that's not true.")


def test_an_answer_of_denials_alone_is_no_claim() -> None:
    said = "The vaccine does not cause autism in children."
    assert [claim.text for claim in _extract(f"{said} No, it does not.").claims] == [said]


def _parts(raw: str) -> list[str]:
    return [write_claim(raw, part) for part in independent_parts(raw, Sentence(raw, 0, len(raw)))]


def test_a_compound_sentence_splits_into_statements() -> None:
    assert _parts("Every parent knows why: sugar makes children hyperactive.") == [
        "Every parent knows why.",
        "Sugar makes children hyperactive.",
    ]
    assert _parts(
        "Taking vitamin C every day prevents colds, so there was always a bowl of oranges."
    ) == ["Taking vitamin C every day prevents colds.", "There was always a bowl of oranges."]
    assert _parts("The coal, the gas, and the oil of the north were sold to the state.") == []


@pytest.mark.parametrize(
    "said",
    [
        "This is a lie: the earth is flat and has an edge.",
        "Critics say this: vaccines kill the children of the poor.",
        "If you believe the papers, so the story goes: crime is falling everywhere.",
        "I want to convince you of one thing: the old beliefs hold up well.",
        "It is not the sugar, but the fat makes people ill.",
    ],
)
def test_dependent_parts_stay_with_their_sentence(said: str) -> None:
    assert all(said.startswith(part.rstrip(".")) for part in _parts(said))


def test_a_part_replaces_its_sentence_if_the_rest_is_talk() -> None:
    said = (
        "Every parent has watched a birthday party turn into a riot, and every parent knows why: "
        "sugar makes children hyperactive. The river Rhine flows through the Netherlands."
    )
    assert "Sugar makes children hyperactive." in {claim.text for claim in _extract(said).claims}


# --- Wording --------------------------------------------------------------------------------------


def _written(raw: str) -> str:
    return write_claim(raw, trim(raw, Sentence(raw, 0, len(raw))))


def test_introductory_words_are_removed() -> None:
    raw = "So, you know, it turns out that the Romans drank sea water."
    sentence = trim(raw, Sentence(raw, 0, len(raw)))
    assert write_claim(raw, sentence) == "The Romans drank sea water."
    assert raw[sentence.start : sentence.end] == "the Romans drank sea water."


@pytest.mark.parametrize(
    "raw",
    [
        "No vaccine contains microchips of any kind.",
        "First graders read 20 books a year.",
        "Well known facts are seldom checked again.",
        "There is no evidence that vaccines cause autism in children.",
        "After all the votes were counted, the old party won.",
        "However hard people work, wages stay as they are.",
        "So few people vote that a party of ten can win.",
        "Look it up in the dictionary and you will see.",
        "I think that wages stay as they are.",
        "Some people say that wages stay as they are.",
        "It turns out to be the largest of all lakes.",
    ],
)
def test_words_of_the_statement_stay(raw: str) -> None:
    assert trim(raw, Sentence(raw, 0, len(raw))).start == 0


@pytest.mark.parametrize(
    ("raw", "written"),
    [
        ("Number two: exercise improves attention, OK?", "Exercise improves attention."),
        (
            "Cracking knuckles causes arthritis, she would say.",
            "Cracking knuckles causes arthritis.",
        ),
        ("And did you know that all bananas emit rays?", "All bananas emit rays."),
        ("Uh the river um carries more water.", "The river carries more water."),
        ("the price rose to $3.99", "The price rose to $3.99."),
        ("most of the plants are built in the U.S.", "Most of the plants are built in the U.S."),
        ("and they said “it is over.", "They said it is over."),
        ("[the vaccine] is [not] safe for [t]he young", "The vaccine is not safe for the young."),
    ],
)
def test_a_claim_has_a_capital_and_a_full_stop(raw: str, written: str) -> None:
    assert _written(raw) == written


@given(st.text(alphabet=st.sampled_from("the river um, runs not 3.5 :;\u2014?!so"), max_size=200))
def test_a_claim_keeps_all_words_between_its_edges(raw: str) -> None:
    span = Sentence(raw, 0, len(raw))
    said = [word for word in raw.split() if word.strip(".,") != "um"]
    claim = write_claim(raw, trim(raw, span)).strip('."?').casefold()
    assert claim.strip() in " ".join(said).casefold()


# --- Limits ---------------------------------------------------------------------------------------


@given(st.text(max_size=400), st.integers(1, 8))
def test_claims_of_any_text_stay_within_limits(text: str, limit: int) -> None:
    try:
        drafts = _extract(text or " ", limit=limit)
    except ReasonerRefusalError:
        return
    assert len(drafts.claims) <= limit
    for claim in drafts.claims:
        assert claim.text
        assert claim.char_start is not None
        assert claim.char_end is not None
        assert 0 <= claim.char_start < claim.char_end <= len(text)


HOSTILE = (
    "A" * 20, "A. ", "A ", " " * 50, "\n", ".", "?!", "\u2026", "[", "[the ", "(applause", ">>",
    "and ", "so, ", "a:", "a;", ", because ", " - ", "no ", "million ", "one point ",
    "hundred and ", "1,000", "$1.", "\u201c", "you know, ", "Dr. ", "DR SMITH 9 ",
    "SAYS JANE DOE SMITH 1,000 ",
)  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_text_takes_linear_time(piece: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # All words look alike, so every gap is as likely an end as any other.
    monkeypatch.setattr(boundaries, "minilm", _Unread)
    monkeypatch.setattr(boundaries, "_read_ends", lambda runs: [np.zeros(len(run)) for run in runs])

    def seconds(length: int) -> float:
        text = (piece * (length // len(piece) + 1))[:length] + "x"
        began = time.process_time()
        sentences = split_sentences(text)
        withdrawn(text, sentences)
        for sentence in sentences:
            span = trim(text, sentence)
            independent_parts(text, span)
            count_words(write_claim(text, span))
        return time.process_time() - began

    seconds(1_000)
    # A tenfold length takes tenfold time, or a hundredfold if it is quadratic.
    assert seconds(10_000) < 30 * max(seconds(1_000), 0.02)


class _Unread:
    def read_words(self, runs: Sequence[Sequence[str]]) -> list[Vectors]:
        return [np.empty((len(words), 0), dtype=np.float32) for words in runs]


def test_a_number_of_endless_scales_is_read() -> None:
    assert count_words("million " * 60 + "point one").numbers <= 2
    assert count_words("five " + "million " * 60 + "point one").numbers <= 2


def test_a_talk_without_punctuation_has_claims() -> None:
    nouns = ["coffee", "river", "vaccine", "budget", "glacier", "engine", "harvest", "senate"]
    verbs = ["raises", "lowers", "follows", "covers", "causes", "needs", "reaches"]
    words = " ".join(
        f"the {nouns[i % 8]} of region {i % 97} {verbs[i % 7]} the {nouns[(i // 8) % 8]} in year"
        f" {i}"
        for i in range(60)
    )
    assert len(_extract(words, limit=15).claims) == 15
