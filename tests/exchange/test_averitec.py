from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factible_assets.corpora.format import ClaimEntry
from factible_assets.exchange.averitec import day_of, day_words, read_averitec, write_averitec
from factible_assets.exchange.claims import corpus_of_claims
from factible_assets.records.scales import AVERITEC
from tests.exchange.entries import (
    DAYS,
    MAYBE,
    QUESTIONS,
    STANCES,
    URLS,
    WORDS,
    Read,
    claims_of,
    stored,
)
from tests.shared_data import shared_data

FILE = Path("given.json")

CLAIM: dict[str, Any] = {
    "claim": "Honey keeps for years in a closed jar.",
    "required_reannotation": False,
    "label": "Supported",
    "justification": "Two agencies say so.",
    "claim_date": "3-2-2021",
    "speaker": "A beekeeper",
    "original_claim_url": "https://talks.example/honey",
    "fact_checking_article": "https://checks.example/honey",
    "reporting_source": "Radio",
    "location_ISO_code": None,
    "claim_types": ["Numerical Claim"],
    "fact_checking_strategies": ["Written Evidence"],
    "questions": [
        {
            "question": "How long does honey keep?",
            "answers": [
                {
                    "answer": "Yes",
                    "answer_type": "Boolean",
                    "boolean_explanation": "Jars from tombs were edible.",
                    "source_url": "https://museum.example/jars",
                    "source_medium": "Web text",
                    "cached_source_url": "https://archive.example/jars",
                }
            ],
        }
    ],
    "cached_original_claim_url": None,
}


def given_as(*changes: dict[str, Any]) -> str:
    """Return the sample claim with changes, several times."""
    return json.dumps([CLAIM | change for change in changes])


def test_a_claim_is_read_with_label_date_speaker_questions_and_sources() -> None:
    read = Read(read_averitec(given_as({}), FILE))
    assert read.problems == ()
    (one,) = read.claims
    assert one.claim.stance == "supports"
    assert one.claim.label == "Supported"
    assert one.claim.said_on == date(2021, 2, 3)
    assert one.claim.speaker == "A beekeeper"
    assert one.claim.review_url == "https://checks.example/honey"
    assert one.channel == "Radio"
    (question,) = one.claim.questions
    (answer,) = question.answers
    assert (answer.kind, answer.text) == ("boolean", "Yes")
    assert answer.source_url == "https://museum.example/jars"


def test_a_claim_becomes_an_entry_whose_date_limits_its_evidence(tmp_path: Path) -> None:
    read = Read(read_averitec(given_as({}), FILE))
    (listed,) = stored(tmp_path, read.claims[0].claim)
    assert listed.entry.published_before == date(2021, 2, 3)
    assert listed.transcript is not None
    assert json.loads(listed.transcript.read_text()) == {"text": CLAIM["claim"]}


def test_ids_are_stable_whatever_else_is_in_the_file() -> None:
    def ids(text: str) -> list[str]:
        claims = Read(read_averitec(text, FILE)).claims
        corpus, *_ = corpus_of_claims("av", claims, FILE, web="auto")
        return [entry.video_id for entry in corpus.videos]

    (alone,) = ids(given_as({}))
    assert ids(given_as({"claim": "Another."}, {}))[1] == alone
    assert ids(given_as({"speaker": "Somebody else"})) != [alone]


@pytest.mark.parametrize(("label", "stance"), AVERITEC.items())
def test_every_label_has_its_stance(label: str, stance: str) -> None:
    (one,) = Read(read_averitec(given_as({"label": label}), FILE)).claims
    assert one.claim.stance == stance
    assert one.claim.label == label


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"label": "Perhaps"}, "label is 'Perhaps': it is none of Supported, Refuted"),
        ({"claim_date": "31-02-2021"}, "it is no day. Write it as DD-MM-YYYY"),
        ({"claim": ""}, "claim is ''"),
        ({"claim": " \n "}, "claim is"),
        ({"claim": "\ud800"}, "claim is"),
        ({"questions": "none"}, "questions is 'none'"),
        (
            {"questions": [{"question": "Why?", "answers": [{"answer_type": "Boolean"}]}]},
            "questions.0.answers.0.answer is missing",
        ),
        (
            {"questions": [{"question": "?", "answers": [{"answer": "x", "answer_type": "Oral"}]}]},
            "none of Extractive",
        ),
    ],
)
def test_a_mistake_is_told_with_its_item_key_and_remedy(
    change: dict[str, Any], sentence: str
) -> None:
    read = Read(read_averitec(given_as(change, {}), FILE))
    assert len(read.claims) == 1
    (problem,) = read.problems
    assert "Item 1" in problem.sentence
    assert sentence in problem.sentence


def test_a_list_that_breaks_off_gives_its_whole_items_and_the_line_of_the_break() -> None:
    read = Read(read_averitec(given_as({}, {"claim": "B."})[:-40], FILE))
    assert len(read.claims) == 1
    (problem,) = read.problems
    assert "This is not JSON" in problem.sentence


@given(st.dates(date(1, 1, 1)))
def test_a_day_is_read_as_it_is_written(day: date) -> None:
    assert day_of(day_words(day) or "") == day
    assert day_of(day.isoformat()) == day


@given(
    claim=st.builds(
        ClaimEntry,
        text=WORDS,
        stance=st.none() | STANCES,
        reasoning=MAYBE,
        speaker=MAYBE,
        said_on=DAYS,
        appeared_at=URLS,
        review_url=URLS,
        questions=st.lists(QUESTIONS, max_size=2).map(tuple),
    ),
    channel=MAYBE,
)
def test_what_the_form_carries_survives_the_way_there_and_back(
    tmp_path_factory: pytest.TempPathFactory, claim: ClaimEntry, channel: str | None
) -> None:
    listed = stored(
        tmp_path_factory.mktemp("there"), claim, channel=channel, tags=("Causal Claim", "Mine")
    )
    assert [again for _, again in claims_of(listed)] == [claim]
    read = Read(read_averitec(write_averitec(claims_of(listed)), FILE))
    assert read.problems == ()
    (one,) = read.claims
    assert one.claim.model_copy(update={"label": None}) == claim
    assert one.channel == channel
    assert one.tags == ("Causal Claim",)


def test_the_real_data_set_is_read_but_for_two_claims_that_it_has_twice() -> None:
    file = shared_data("averitec", "dev_even.json")
    read = Read(read_averitec(file.read_text(), file))
    assert (len(read.claims), read.problems) == (250, ())
    assert all(one.claim.said_on and one.claim.questions for one in read.claims)
    corpus, _, problems = corpus_of_claims("averitec", read.claims, file, web="auto")
    assert len(corpus.videos) == 248
    assert len(problems) == 2
