"""Folding reviewers' actions, and a flow that keeps to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from factible_assets.config import FactCheckConfig, SearchConfig
from factible_assets.records.rows import VideoRows
from factible_assets.records.tables import Query, ReviewAction
from factible_assets.stages.flow import check_claims, with_others
from factible_assets.stages.ids import query_id
from factible_assets.stages.integrity import judge
from factible_assets.stages.ports import QueryDraft
from factible_assets.stages.progress import ALL_STAGES
from factible_assets.stages.reviews import (
    NO_CORRECTIONS,
    Corrections,
    applied_by,
    corrected_queries,
    corrections_by_claim,
    latest,
)
from tests.stages.world import VIDEO, Hit, World, make_claim, own_words, says

CLAIM = make_claim("the moon is round")
OTHER = make_claim("the sun is cold", rank=2)
WORDS = ("alpha", "beta", "gamma", "delta")
SUBJECTS = ("https://a.example/x", "https://a.example/y", "a.example", "https://b.example/x")
START = datetime(2026, 1, 2, tzinfo=UTC)


def act(number: int, action: str, **fields: Any) -> ReviewAction:
    """Return an action, `number` minutes after the first."""
    if action in {"add_query", "edit_query"}:
        fields.setdefault("query_id", query_id(CLAIM.claim_id, fields["value"]))
    return ReviewAction(
        **{
            "action_id": f"a{number}",
            "video_id": VIDEO.video_id,
            "claim_id": CLAIM.claim_id,
            "reviewer": "desk",
            "acted_at": START + timedelta(minutes=number),
            "action": action,
            **fields,
        }
    )


def written(*texts: str) -> tuple[Query, ...]:
    return tuple(
        Query(
            query_id=query_id(CLAIM.claim_id, text),
            claim_id=CLAIM.claim_id,
            video_id=VIDEO.video_id,
            rank=rank,
            text=text,
            query_type="source",
            priority=2,
            basis="llm",
        )
        for rank, text in enumerate(texts, start=1)
    )


def of(*actions: ReviewAction) -> Corrections:
    return corrections_by_claim(actions).get(CLAIM.claim_id, NO_CORRECTIONS)


def texts(queries: Sequence[Query]) -> list[str]:
    assert [query.rank for query in queries] == list(range(1, len(queries) + 1))
    return [query.text for query in queries]


def name(text: str) -> str:
    return query_id(CLAIM.claim_id, text)


@st.composite
def histories(draw: st.DrawFn) -> list[ReviewAction]:
    actions = []
    for number in range(draw(st.integers(0, 9))):
        kind = draw(st.sampled_from(["add", "edit", "remove", "block", "unblock", "source"]))
        words, target = draw(st.sampled_from(WORDS)), draw(st.sampled_from(WORDS))
        subject = draw(st.sampled_from(SUBJECTS))
        made: dict[str, Callable[[], ReviewAction]] = {
            "add": partial(act, number, "add_query", value=words),
            "edit": partial(act, number, "edit_query", target=name(target), value=words),
            "remove": partial(act, number, "remove_query", target=name(target)),
            "block": partial(act, number, "block_source", target=subject),
            "unblock": partial(act, number, "unblock_source", target=subject),
            "source": partial(act, number, "add_source", target=subject, value=f"{subject}?x"),
        }
        actions.append(made[kind]())
    return actions


@given(histories(), st.randoms())
def test_neither_order_nor_repetition_of_actions_matters(
    actions: list[ReviewAction], random: Any
) -> None:
    shuffled = [*actions, *actions[:3]]
    random.shuffle(shuffled)
    assert of(*shuffled) == of(*actions)


@given(histories())
def test_the_latest_action_on_a_query_or_source_counts(actions: list[ReviewAction]) -> None:
    asked: dict[str, bool] = {}
    said: dict[str, str] = {}
    for action in actions:
        if action.action in {"edit_query", "remove_query"}:
            asked[str(action.target)] = False
        if action.action in {"edit_query", "add_query"}:
            asked[str(action.query_id)] = True
        if action.action.endswith("source"):
            said[str(action.target)] = action.action
    found = of(*actions)
    assert {query.query_id for query in found.queries} == {key for key, on in asked.items() if on}
    assert found.removed == {key for key, on in asked.items() if not on}
    expected = {key: kind for key, kind in said.items() if kind != "unblock_source"}
    assert {key: act.action for key, act in found.sources.items()} == expected


@given(histories(), st.permutations(WORDS), st.integers(1, 4))
def test_applying_corrections_again_changes_nothing_and_something_is_always_asked(
    actions: list[ReviewAction], order: list[str], count: int
) -> None:
    corrections = of(*actions)
    once = corrected_queries(CLAIM, written(*order[:count]), corrections)
    assert corrected_queries(CLAIM, once, corrections) == once
    assert once
    assert len({query.query_id for query in once}) == len(once)
    assert all(query.query_id == name(query.text) for query in once)


def test_a_reworded_query_is_asked_in_its_place_and_keeps_its_strategy() -> None:
    corrections = of(act(1, "edit_query", target=name("beta"), value="better"))
    found = corrected_queries(CLAIM, written("alpha", "beta", "gamma"), corrections)
    assert texts(found) == ["alpha", "better", "gamma"]
    assert (found[1].basis, found[1].query_type, found[1].priority) == ("reviewer", "source", 2)
    assert found[0].basis == "llm"


def test_a_query_that_was_reworded_twice_still_stands_in_the_first_ones_place() -> None:
    corrections = of(
        act(1, "edit_query", target=name("alpha"), value="one"),
        act(2, "edit_query", target=name("one"), value="two"),
    )
    assert texts(corrected_queries(CLAIM, written("alpha", "beta"), corrections)) == ["two", "beta"]
    # The queries of the last check, with only the first change applied, leads to the same.
    assert texts(corrected_queries(CLAIM, written("one", "beta"), corrections)) == ["two", "beta"]


def test_a_query_that_gets_its_own_words_back_is_the_machines_again() -> None:
    corrections = of(
        act(1, "edit_query", target=name("alpha"), value="one"),
        act(2, "edit_query", target=name("one"), value="alpha"),
    )
    (found,) = corrected_queries(CLAIM, written("alpha"), corrections)
    assert (found.text, found.basis) == ("alpha", "llm")


def test_without_another_query_the_claims_own_words_are_searched() -> None:
    corrections = of(act(1, "remove_query", target=name("alpha")))
    (found,) = corrected_queries(CLAIM, written("alpha"), corrections)
    assert (found.text, found.query_id) == (CLAIM.text, name(CLAIM.text))


def test_a_blocked_domain_includes_its_subdomains_and_no_name_with_the_same_ending() -> None:
    corrections = of(act(1, "block_source", target="a.example", reason="sells pills."))
    said = corrections.blocked("http://www.shop.a.example/x?utm_source=y")
    assert said == "Blocked by a reviewer: desk left out a.example on 2026-01-02 (sells pills)."
    assert corrections.blocked("https://nota.example/x") is None
    assert corrections.blocked("no address") is None


def test_a_page_added_after_its_domain_was_blocked_is_an_exception_and_one_before_is_not() -> None:
    page = "https://a.example/x"
    block = {"target": "a.example"}
    add = {"target": page, "value": page}
    after = of(act(1, "block_source", **block), act(2, "add_source", **add))
    before = of(act(2, "block_source", **block), act(1, "add_source", **add))
    assert after.adds(page)
    assert [each.url for each in after.added] == [page]
    assert not before.adds(page)
    assert before.added == []


def test_an_assessment_is_the_latest_and_can_be_taken_back() -> None:
    first, second = act(1, "assess", value="refutes"), act(2, "assess", value="supports")
    assert latest("assess", [second, first]) == second
    assert latest("assess", [first, second, act(3, "assess")]) is None
    assert of(first, second) == NO_CORRECTIONS


@pytest.mark.parametrize(
    "fields",
    [
        {"action": "block_source"},
        {"action": "note", "value": " "},
        {"action": "remove_query", "target": "q", "query_id": "q"},
        {"action": "assess", "value": "perhaps"},
    ],
)
def test_a_half_action_is_refused(fields: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        act(1, **fields)


def test_a_run_keeps_to_what_its_stages_and_claims_concern() -> None:
    actions = [
        act(1, "add_query", value="alpha"),
        act(2, "block_source", target="a.example"),
        act(3, "note", value="hm"),
        act(4, "add_source", target=SUBJECTS[0], value=SUBJECTS[0]),
    ]
    mine = frozenset({CLAIM.claim_id})
    assert applied_by(actions, mine, frozenset(ALL_STAGES)) == ("a1", "a2", "a4")
    assert applied_by(actions, mine, frozenset({"evidence"})) == ("a2",)
    assert applied_by(actions, frozenset({OTHER.claim_id}), frozenset(ALL_STAGES)) == ()


# --- The flow -----------------------------------------------------------------------------------


def world() -> World:
    """Return a web in which a.example supports the claim, b.example refutes it."""
    made = World(listed=dict.fromkeys(("a.example", "b.example", "c.example"), "high"))
    for claim, query in ((CLAIM, "alpha"), (OTHER, "beta")):
        made.queries[claim.text] = [QueryDraft(query, "direct", 1)]
        made.results[query] = [
            [Hit(1, "A", "https://a.example/x"), Hit(2, "B", "https://b.example/x")]
        ]
    made.results["mine"] = [[Hit(1, "C", "https://c.example/x")]]
    for host, stance in (("a", "supports"), ("b", "refutes"), ("c", "refutes"), ("d", "refutes")):
        url = f"https://{host}.example/x"
        made.texts[url] = own_words(host) + "".join(
            says(claim.text, stance)  # type: ignore[arg-type]
            for claim in (CLAIM, OTHER)
        )
    return made


async def test_a_blocked_source_is_skipped_with_that_reason_and_the_verdict_is_another() -> None:
    actions = [act(1, "block_source", target="a.example", reason="a joke")]
    before = await check_claims(VIDEO, [CLAIM], world().services(), FactCheckConfig())
    place = world()
    after = await check_claims(
        VIDEO,
        [CLAIM],
        place.services(),
        FactCheckConfig(),
        corrections=corrections_by_claim(actions),
    )
    assert before.verdicts[0].stance == "mixed"
    assert after.verdicts[0].stance == "refutes"
    (left_out,) = [row for row in after.evidence if row.status == "skipped"]
    assert left_out.canonical_url == "https://a.example/x"
    assert str(left_out.reason).startswith("Blocked by a reviewer: desk")
    assert not place.asked["fetch", "https://a.example/x"]


async def test_a_page_that_leads_to_a_blocked_source_is_left_out_too() -> None:
    place = world()
    place.redirects["https://a.example/x"] = "https://joke.example/x"
    found = await check_claims(
        VIDEO,
        [CLAIM],
        place.services(),
        FactCheckConfig(),
        corrections=corrections_by_claim([act(1, "block_source", target="joke.example")]),
    )
    assert {row.canonical_url for row in found.evidence if row.status == "skipped"} == {
        "https://a.example/x"
    }


async def test_added_sources_are_read_beyond_the_limit_and_rows_stay_whole() -> None:
    url = "https://d.example/x"
    actions = [
        act(1, "add_source", target=url, value=url),
        act(2, "add_source", target="https://a.example/x", value="https://a.example/x"),
        act(3, "edit_query", target=name("alpha"), value="mine"),
        act(4, "add_query", value="alpha"),
    ]
    config = FactCheckConfig(search=SearchConfig(max_results=1, minimum_rating="high"))
    found = await check_claims(
        VIDEO, [CLAIM], world().services(), config, corrections=corrections_by_claim(actions)
    )
    assert texts(found.queries) == ["alpha", "mine"]
    read = {row.canonical_url: row for row in found.evidence if row.status == "ok"}
    assert {url, "https://a.example/x", "https://c.example/x"} <= set(read)
    providers = {
        hit.canonical_url: hit.provider for hit in found.hits if hit.query_id == name("alpha")
    }
    assert providers[url] == "reviewer"
    assert providers["https://a.example/x"] == "engine+reviewer"
    rows = replace(found, videos=[VIDEO], claims=[CLAIM])
    assert [str(broken) for one in judge(ALL_STAGES, rows) for broken in one.violations] == []


async def test_one_claim_checked_alone_keeps_its_queries_and_carries_the_others_over() -> None:
    whole = await check_claims(VIDEO, [CLAIM, OTHER], world().services(), FactCheckConfig())
    place = world()
    alone = await check_claims(
        VIDEO,
        [CLAIM],
        place.services(),
        FactCheckConfig(only_claims=(CLAIM.claim_id,)),
        known=VideoRows(queries=whole.queries),
        corrections=corrections_by_claim([act(1, "block_source", target="a.example")]),
    )
    assert not place.asked["queries", CLAIM.text]
    joined = with_others(alone, whole, [CLAIM, OTHER], frozenset({OTHER.claim_id}))
    theirs = [row for row in joined.evidence if row.claim_id == OTHER.claim_id]
    assert theirs == [row for row in whole.evidence if row.claim_id == OTHER.claim_id]
    stances = {row.claim_id: row.stance for row in joined.verdicts}
    assert stances == {CLAIM.claim_id: "refutes", OTHER.claim_id: "mixed"}
    assert joined.llm_calls == alone.llm_calls
    rows = replace(joined, videos=[VIDEO], claims=[CLAIM, OTHER])
    assert [str(broken) for one in judge(ALL_STAGES, rows) for broken in one.violations] == []


async def test_the_others_keep_up_with_a_page_that_leads_to_another_site_meanwhile() -> None:
    whole = await check_claims(VIDEO, [CLAIM, OTHER], world().services(), FactCheckConfig())
    moved = world()
    moved.redirects["https://a.example/x"] = "https://new.example/x"
    alone = await check_claims(VIDEO, [CLAIM], moved.services(), FactCheckConfig())
    joined = with_others(alone, whole, [CLAIM, OTHER], frozenset({OTHER.claim_id}))
    rows = replace(joined, videos=[VIDEO], claims=[CLAIM, OTHER])
    assert [str(broken) for one in judge(ALL_STAGES, rows) for broken in one.violations] == []
