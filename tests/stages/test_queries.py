"""From drafts to queries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factible_assets.config import QueriesConfig
from factible_assets.records.tables import Query
from factible_assets.stages.ports import QueryDraft
from factible_assets.stages.queries import build_queries, query_row, time_words
from tests.stages.world import make_claim

CLAIM = make_claim("Coffee is harmless")


def build(
    *drafts: QueryDraft, claim: str = CLAIM.text, max_queries: int = 3, max_priority: int = 3
) -> tuple[Query, ...]:
    config = QueriesConfig(max_queries=max_queries)
    return build_queries(make_claim(claim), drafts, config, basis="llm", max_priority=max_priority)


def test_queries_are_sorted_by_priority_and_then_as_in_table_4() -> None:
    queries = build(
        QueryDraft("d", "context", 1), QueryDraft("c", "direct", 2), QueryDraft("b", "direct", 1)
    )
    assert [(query.rank, query.text) for query in queries] == [(1, "b"), (2, "d"), (3, "c")]


def test_low_priorities_are_left_out_and_the_rest_is_limited() -> None:
    drafts = [QueryDraft(f"q{number}", "direct", number) for number in (1, 2, 3, 4, 5)]
    assert [query.text for query in build(*drafts, max_priority=4, max_queries=10)] == [
        "q1",
        "q2",
        "q3",
        "q4",
    ]
    assert len(build(*drafts, max_queries=2)) == 2


def test_a_query_that_seeks_the_opposite_is_kept_whatever_its_priority() -> None:
    drafts = [QueryDraft(f"q{number}", "direct", 1) for number in range(5)]
    against = QueryDraft("coffee harms", "alternative", 5, seeks_opposite=True)
    assert [query.text for query in build(*drafts, against)] == ["q0", "q1", "coffee harms"]


def test_a_single_query_asks_for_the_claim_itself() -> None:
    against = QueryDraft("coffee harms", "alternative", 2, seeks_opposite=True)
    assert [q.text for q in build(QueryDraft("q", "direct", 1), against, max_queries=1)] == ["q"]


def test_one_wording_is_asked_once_at_its_most_urgent() -> None:
    queries = build(
        QueryDraft("Coffee  risks?", "context", 3), QueryDraft("coffee risks", "direct", 1)
    )
    assert [(query.text, query.priority) for query in queries] == [("coffee risks", 1)]


def test_a_query_that_lost_the_claim_s_years_gets_them_back() -> None:
    queries = build(
        QueryDraft("jobless rate", "alternative", 1),
        QueryDraft("unemployment 2024", "direct", 1),
        claim="Unemployment rose 15% in Q3 2024",
    )
    assert {query.text for query in queries} == {"jobless rate Q3 2024", "unemployment 2024"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It fell in March 2019 and in the 1990s", ("March", "2019", "1990s")),
        ("They march and may go", ()),
        ("In May 2020 it was 2020", ("May", "2020")),
        ("The 19th century and last year", ("19th century", "last year")),
        ("Last month it may rain", ("Last month",)),
        ("Add 1500 g to 20 l", ("1500",)),
        ("No time at all", ()),
    ],
)
def test_time_words_are_recognised(text: str, found: tuple[str, ...]) -> None:
    assert time_words(text) == found


def test_a_claim_without_drafts_is_searched_for_verbatim() -> None:
    assert [query.text for query in build()] == [CLAIM.text]
    assert [query.text for query in build(QueryDraft(" ", "direct", 1))] == [CLAIM.text]


def test_if_all_priorities_are_too_low_the_most_urgent_is_asked() -> None:
    drafts = QueryDraft("five", "direct", 5), QueryDraft("four", "direct", 4)
    assert [query.text for query in build(*drafts)] == ["four"]


def test_queries_that_could_not_be_written_are_one_row_that_says_why() -> None:
    row = query_row(CLAIM, "", basis="llm", status="infra_error", reason="the model is down")
    assert (row.status, row.reason, row.text) == ("infra_error", "the model is down", "")


drafts = st.lists(
    st.builds(
        QueryDraft,
        st.text(max_size=8),
        st.sampled_from(["direct", "alternative", "source", "context"]),
        st.integers(-3, 9),
        st.booleans(),
    ),
    max_size=12,
)


@given(drafts, st.integers(1, 10), st.integers(1, 5))
def test_queries_keep_the_rules_for_any_drafts(
    drawn: list[QueryDraft], limit: int, priority: int
) -> None:
    queries = build(*drawn, max_queries=limit, max_priority=priority)
    assert 1 <= len(queries) <= limit
    assert len({query.query_id for query in queries}) == len(queries)
    assert [query.rank for query in queries] == list(range(1, len(queries) + 1))
    assert all(query.text.strip() for query in queries)
    if limit >= 2 and any(d.seeks_opposite and d.text.split() for d in _distinct(drawn)):
        assert any(query.seeks_opposite for query in queries)


def _distinct(drawn: list[QueryDraft]) -> list[QueryDraft]:
    """Leave out drafts whose wording another draft shares; the other one may stay."""
    return [
        draft
        for draft in drawn
        if sum(build(draft)[0].query_id == build(other)[0].query_id for other in drawn) == 1
    ]
