"""Searches for a claim."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from factible_assets.reasoners.embedded.embedder import OnnxEmbedder
from factible_assets.reasoners.embedded.queries import write_queries
from factible_assets.records.tables import Claim, Video
from factible_assets.stages.ports import QueryDraft

MINILM = OnnxEmbedder()
GARLIC = "Garlic compounds killed 90% of cancer cells in a 2016 study in the U.S."


def _write(text: str, limit: int = 8) -> tuple[QueryDraft, ...]:
    claim = Claim(
        claim_id="c",
        video_id="v",
        rank=1,
        text=text,
        importance=0.5,
        extraction_confidence=0.5,
        basis="embedded",
    )
    video = Video(video_id="v", title="Garlic and your health")
    return write_queries(claim, embedder=MINILM, video=video, max_queries=limit)


def test_all_four_types_are_written() -> None:
    types = {query.query_type for query in _write(GARLIC)}
    assert types == {"direct", "alternative", "source", "context"}


def test_the_direct_query_keeps_numbers_years_and_abbreviations_whole() -> None:
    words = _write(GARLIC)[0].text.split()
    assert {"90%", "2016", "U.S.", "Garlic", "cancer"} <= set(words)


def test_the_second_query_seeks_the_opposite() -> None:
    assert [query.seeks_opposite for query in _write(GARLIC, 2)] == [False, True]
    assert _write(GARLIC, 3)[2].query_type == "source"


def test_priorities_ascend_from_1_to_5() -> None:
    priorities = [query.priority for query in _write(GARLIC)]
    assert priorities == sorted(priorities)
    assert priorities[0] == 1
    assert set(priorities) <= {1, 2, 3, 4, 5}


GROWTH = (
    "From 2010 to 2020, the population of Texas increased by 4 million people, and the state's "
    "economy grew by 35%. But while all this growth was happening, the state's reliable energy "
    "capacity was actually shrinking."
)


def test_a_long_claim_becomes_its_most_telling_words_with_every_figure_and_its_unit() -> None:
    query = _write(GROWTH)[0].text
    assert 5 <= len(query.split()) <= 10
    for said in ("Texas", "4 million people", "35%"):
        assert said in query


@pytest.mark.parametrize(
    "text", [GROWTH, "Green cards are green: green cards were green in New York, New York."]
)
def test_no_query_of_keywords_says_a_word_twice(text: str) -> None:
    for query in _write(text, 4):
        words = query.text.casefold().split()
        assert query.text.endswith("?") or len(set(words)) == len(words), query.text


def test_negations_are_not_lost() -> None:
    assert all(
        word in _write("Vaccines do not cause autism.")[0].text.split() for word in ("not", "cause")
    )


@given(st.text(min_size=1, max_size=200).filter(str.strip), st.integers(1, 10))
@example(")", 3)
@example(".", 10)
def test_any_claim_gets_distinct_queries_that_are_not_empty(text: str, limit: int) -> None:
    queries = _write(text, limit)
    assert 1 <= len(queries) <= limit
    assert all(query.text.strip() for query in queries)
    assert len({query.text for query in queries}) == len(queries)
    assert limit == 1 or any(query.seeks_opposite for query in queries)


def test_every_query_names_the_counted_things() -> None:
    text = "The one million immigrants granted residence each year sponsor their relatives."
    assert all("immigrants" in query.text for query in _write(text, 3))


def test_words_of_degree_stay_with_their_word_or_are_dropped() -> None:
    text = "Princeton researchers, using the most recently available data, counted relatives."
    assert "most" not in _write(text, 1)[0].text.replace("most recently", "").split()
    assert "over" not in _write("A law lets the president take over radio stations.", 1)[0].text
