"""From evidence to verdict: bundle, quality, vote, completeness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from factible_assets.config import FactCheckConfig, SearchConfig, VerdictsConfig
from factible_assets.records.tables import (
    Basis,
    Evidence,
    Rating,
    Search,
    SearchHit,
    Stance,
    Verdict,
)
from factible_assets.stages.flow import check_claims
from factible_assets.stages.ids import content_hash, evidence_id
from factible_assets.stages.origins import StoryIndex
from factible_assets.stages.ports import QueryDraft, VerdictDraft
from factible_assets.stages.queries import build_queries
from factible_assets.stages.reliability import LISTED_SCORES, RELIABLE
from factible_assets.stages.verdict import (
    UNIT,
    VOTE_WEIGHTS,
    CaseFile,
    Tally,
    agreeing_origins,
    bundle,
    conclude,
    decide,
    form_opinion,
    quality,
    ranked,
    settled_vote,
)
from tests.stages.world import VIDEO, Hit, World, make_claim, own_words, says

CLAIM = make_claim("a claim")
QUERIES = build_queries(
    CLAIM, [QueryDraft("a query", "direct", 1)], FactCheckConfig().queries, basis="llm"
)
CONFIG = VerdictsConfig()
STANCES: tuple[Stance, ...] = ("supports", "refutes", "mixed", "unclear")
RATINGS: tuple[Rating, ...] = ("high", "medium", "unknown", "low", "very_low")


def a_search(**changes: object) -> Search:
    row = Search(
        query_id=QUERIES[0].query_id,
        claim_id=CLAIM.claim_id,
        video_id=VIDEO.video_id,
        provider="engine",
        page=1,
        hit_count=1,
        latency_seconds=0.1,
        status="ok",
    )
    return row.model_copy(update=changes)


def a_source(
    name: str,
    stance: Stance | None = "supports",
    rating: Rating = "high",
    *,
    confidence: float = 1.0,
    domain: str | None = None,
    text: str | None = None,
    ground: str | None = None,
) -> Evidence:
    """Return evidence; without a stance it is missing."""
    url = f"https://{domain or f'{name}.example'}/{name}"
    return Evidence(
        evidence_id=evidence_id(CLAIM.claim_id, url),
        claim_id=CLAIM.claim_id,
        video_id=VIDEO.video_id,
        hit_id=f"h-{name}",
        query_id=QUERIES[0].query_id,
        canonical_url=url,
        domain=domain or f"{name}.example",
        title=name,
        status="ok" if stance else "infra_error",
        reason=None if stance else f"{name} was down",
        stance=stance,
        stance_confidence=confidence if stance else None,
        content_hash=content_hash(text) if text else None,
        rating=rating,
        rating_score=LISTED_SCORES[rating],
        ground=ground,
        basis="embedded" if ground else None,
    )


def verdict_on(
    evidence: Sequence[Evidence],
    *,
    texts: Sequence[str] = (),
    config: VerdictsConfig = CONFIG,
    basis: Basis = "llm",
    searches: Sequence[Search] | None = None,
    draft: VerdictDraft | None = None,
) -> Verdict:
    stories = StoryIndex({content_hash(text): text for text in texts})
    case = CaseFile(CLAIM, QUERIES, (a_search(),) if searches is None else searches, (), evidence)
    opinion = form_opinion(case, stories, config, basis=basis)
    return conclude(opinion, draft)


# --- The bundle ---------------------------------------------------------------------------------


def test_a_bundle_is_grouped_by_stance_and_sorted_by_rating_score_and_title() -> None:
    rows = [
        a_source("d", "refutes"),
        a_source("b", rating="medium"),
        a_source("a", rating="medium"),
        a_source("c"),
    ]
    assert [row.title for row in bundle(rows)] == ["c", "a", "b", "d"]
    assert bundle(rows) == bundle(rows[::-1])


def test_unclear_evidence_is_dropped_only_when_more_than_half_is_definite() -> None:
    definite, unclear = a_source("a"), a_source("b", "unclear")
    assert bundle([definite, unclear]) == (definite, unclear)
    assert bundle([definite, a_source("c"), unclear]) == (definite, a_source("c"))


def test_a_worse_copy_of_a_text_does_not_lower_the_quality() -> None:
    best = a_source("a").model_copy(update={"content_hash": "h"})
    copy = a_source("b", "supports", "low").model_copy(update={"content_hash": "h"})
    assert quality([best, copy]) == quality([best])


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], 0.0),
        ([a_source("a", "unclear", "low")], 0.3),
        ([a_source("a", "mixed", "low")], 0.4),
        ([a_source("a")], 0.3 + 0.1 + 0.4 / 3),
        ([a_source(name) for name in "abc"], 1.0),
        ([a_source(name) for name in "abcdef"], 1.0),
    ],
)
def test_quality_follows_table_5(rows: list[Evidence], expected: float) -> None:
    assert quality(rows) == pytest.approx(expected, abs=1e-6)


# --- The vote -----------------------------------------------------------------------------------


def test_agreeing_reliable_sources_give_a_confident_verdict() -> None:
    verdict = verdict_on([a_source(name) for name in "abc"])
    assert (verdict.stance, verdict.confidence, verdict.independent_origins) == (
        "supports",
        "high",
        3,
    )


def test_the_embedded_engine_is_never_more_than_medium_sure() -> None:
    verdict = verdict_on([a_source(name, "refutes") for name in "abcdef"], basis="embedded")
    assert (verdict.stance, verdict.confidence) == ("refutes", "medium")


def test_ten_copies_of_one_wire_story_weigh_as_one() -> None:
    story = own_words("wire")
    copies = [a_source(f"copy{number}", text=story) for number in range(10)]
    alone = verdict_on(copies[:1], texts=[story])
    together = verdict_on(copies, texts=[story])
    assert together.independent_origins == 1
    assert together.confidence_score == alone.confidence_score
    assert together.supporting == 10


def test_an_origin_counts_with_its_strongest_source() -> None:
    weak = a_source("a", rating="low", domain="one.example")
    strong = a_source("b", rating="high", domain="one.example")
    assert verdict_on([weak, strong]).confidence_score == verdict_on([strong]).confidence_score


def test_reliable_sources_on_both_sides_make_it_mixed() -> None:
    assert verdict_on([a_source("a"), a_source("b", "refutes")]).stance == "mixed"


def test_unreliable_sources_on_both_sides_leave_it_unclear() -> None:
    rows = [a_source("a", rating="unknown"), a_source("b", "refutes", "unknown")]
    assert verdict_on(rows).stance == "unclear"


def test_mostly_mixed_sources_make_it_mixed() -> None:
    rows = [a_source("a", "mixed"), a_source("b", "mixed"), a_source("c")]
    assert verdict_on(rows).stance == "mixed"


def test_too_little_weight_is_unclear_with_low_confidence() -> None:
    verdict = verdict_on([a_source("a", rating="low")])
    assert (verdict.stance, verdict.confidence) == ("unclear", "low")


def test_many_bad_sources_do_not_outvote_one_good_one() -> None:
    bad = [a_source(f"bad{number}", "refutes", "very_low") for number in range(20)]
    assert verdict_on([a_source("good"), *bad]).stance == "supports"


def test_the_vote_decides_and_the_reasoner_s_disagreement_is_flagged() -> None:
    draft = VerdictDraft("refutes", "high", "I think not.")
    verdict = verdict_on([a_source("a"), a_source("b")], draft=draft)
    assert (verdict.stance, verdict.vote_stance) == ("supports", "supports")
    assert (verdict.reasoner_stance, verdict.disagreement) == ("refutes", True)
    assert verdict.summary == (
        "The sources, weighed by their reliability, support the claim: the vote counts 2 sources "
        "of 2 independent origins, 2 for it."
    )


@pytest.mark.parametrize(("label", "kept"), [("supports", True), ("refutes", False)])
def test_a_reasoners_words_join_the_verdict_if_it_gives_them_the_same_label(
    label: Stance, kept: bool
) -> None:
    verdict = verdict_on([a_source("a")], draft=VerdictDraft(label, "high", "It is so."))
    assert verdict.summary.endswith("It is so.") == kept
    assert verdict.summary.startswith("The sources, weighed by their reliability, support the")


def test_a_verdict_on_sources_that_a_model_mostly_declined_is_not_a_finding() -> None:
    declined = {"status": "skipped", "stance": None, "reason": "It declined.", "basis": "llm"}
    rows = [a_source(each).model_copy(update=declined) for each in ("a", "b", "c")]
    verdict = verdict_on([*rows, a_source("d", "unclear")])
    assert (verdict.status, verdict.stance, verdict.recheck_due) == ("incomplete", None, False)
    assert "declined to read 3 sources of 4" in str(verdict.reason)
    assert "declined to read 3 sources of 4" in verdict.summary
    # A few declined sources among many change nothing.
    heard = [a_source(each) for each in ("d", "e", "f", "g")]
    assert verdict_on([*rows[:1], *heard]).stance == "supports"


def test_declined_sources_that_leave_only_the_confidence_open_make_no_recheck_due() -> None:
    declined = {"status": "skipped", "stance": None, "reason": "It declined.", "basis": "llm"}
    sources = [a_source(each, rating="unknown") for each in ("a", "b", "c")]
    rows = [each.model_copy(update=declined) for each in sources]
    verdict = verdict_on([*rows, a_source("d"), a_source("e")])
    assert (verdict.stance, verdict.confidence, verdict.recheck_due) == ("supports", "low", False)
    said = (
        "The reader declined to read 3 sources, which could change the confidence, not the stance."
    )
    assert verdict.reason == said
    # A source that failed makes it due, and each sentence stands once.
    down = verdict_on([*rows, a_source("d"), a_source("e"), a_source("f", None, "low")])
    assert down.recheck_due
    assert str(down.reason).count("declined to read 3 sources") == 1


def test_agreeing_origins_are_counted_on_one_side_and_among_reliable_sources_only() -> None:
    rows = [a_source("a"), a_source("b"), a_source("c", "refutes"), a_source("d", rating="unknown")]
    assert agreeing_origins(rows, StoryIndex({})) == 2


# --- Completeness -------------------------------------------------------------------------------


def test_no_evidence_and_no_failure_is_complete_unclear_and_low() -> None:
    verdict = verdict_on([])
    assert (verdict.status, verdict.evidence_status) == ("complete", "no_evidence")
    assert (verdict.stance, verdict.confidence) == ("unclear", "low")
    assert verdict.summary == "No source that was found speaks of the claim."


def test_an_unclear_verdict_counts_the_silent_sources() -> None:
    silent = {
        "status": "no_evidence",
        "stance": None,
        "reason": "It does not speak of it.",
        "content_hash": "0",
    }
    rows = [a_source(name).model_copy(update=silent) for name in ("a", "b")]
    said = verdict_on(rows).summary
    assert said == "None of the 2 sources that were read speaks of the claim."


def test_a_missing_source_that_could_change_the_stance_makes_it_incomplete() -> None:
    verdict = verdict_on([a_source("a"), a_source("b", None)])
    assert (verdict.status, verdict.stance, verdict.missing) == ("incomplete", None, 1)
    assert verdict.recheck_due
    assert verdict.reason is not None
    assert "b was down" in verdict.reason


def test_a_verdict_is_incomplete_if_no_source_could_be_read() -> None:
    down = a_source("down", None, rating="unknown")
    assert verdict_on([down]).status == "incomplete", "though it could decide nothing by itself"
    silent = {
        "status": "no_evidence",
        "stance": None,
        "reason": "It does not speak of it.",
        "content_hash": "0",
    }
    read = a_source("a").model_copy(update=silent)
    beside = verdict_on([read, down])
    assert (beside.status, beside.stance, beside.recheck_due) == ("complete", "unclear", True)


def test_a_missing_source_without_influence_is_only_counted() -> None:
    rows = [a_source(f"s{number}") for number in range(12)]
    verdict = verdict_on([*rows, a_source("down", None)])
    assert (verdict.status, verdict.stance, verdict.confidence) == ("complete", "supports", "high")
    assert verdict.missing == 1


def test_an_open_confidence_leaves_the_stance_with_the_lowest() -> None:
    rows = [a_source(f"s{number}") for number in range(3)]
    whole, less = verdict_on(rows), verdict_on([*rows, a_source("down", None)])
    assert (whole.confidence, whole.recheck_due, whole.reason) == ("high", False, None)
    assert (less.status, less.stance, less.confidence) == ("complete", "supports", "medium")
    assert less.recheck_due
    assert "down was down" in (less.reason or "")


def test_a_worthless_address_that_did_not_answer_may_have_led_to_an_unknown_one() -> None:
    worthless, unknown = (
        verdict_on([a_source("a", rating="medium"), a_source("b", None, rating)])
        for rating in ("very_low", "unknown")
    )
    assert worthless.confidence == unknown.confidence
    assert worthless.status == unknown.status
    alone = verdict_on([a_source("a", "supports", "unknown"), a_source("b", None, "very_low")])
    assert alone.status == "incomplete"


@pytest.mark.parametrize(
    "searches",
    [(), (a_search(status="infra_error", reason="over quota"),)],
    ids=["a query that no provider was asked", "a search that failed"],
)
def test_a_verdict_is_incomplete_if_the_missing_sources_are_unknown(
    searches: tuple[Search, ...],
) -> None:
    verdict = verdict_on([a_source(name) for name in "abc"], searches=searches)
    assert verdict.status == "incomplete"


def test_a_claim_without_queries_is_incomplete() -> None:
    opinion = form_opinion(CaseFile(CLAIM), StoryIndex({}), CONFIG, basis="llm")
    assert conclude(opinion, None).status == "incomplete"


def test_a_search_result_that_was_never_looked_at_makes_it_incomplete() -> None:
    case = CaseFile(CLAIM, QUERIES, (a_search(),), (_hit(),), ())
    opinion = form_opinion(case, StoryIndex({}), CONFIG, basis="llm")
    assert opinion.doubt is not None


def _hit() -> SearchHit:
    return SearchHit(
        hit_id="h",
        query_id=QUERIES[0].query_id,
        claim_id=CLAIM.claim_id,
        video_id=VIDEO.video_id,
        provider="engine",
        page=1,
        rank=1,
        title="",
        url="https://a.example/",
        canonical_url="https://a.example/",
        domain="a.example",
        snippet="",
    )


def test_verdicts_are_ranked_by_the_quality_of_their_evidence() -> None:
    poor, rich = verdict_on([a_source("a")]), verdict_on([a_source(name) for name in "abc"])
    other = make_claim("another claim", rank=2)
    rich = rich.model_copy(update={"claim_id": other.claim_id})
    assert [each.claim_id for each in ranked([poor, rich], [CLAIM, other])] == [
        other.claim_id,
        CLAIM.claim_id,
    ]


steps = st.sampled_from([0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 30, 40, 60])
"""Weights in twentieths of a full source: close enough together to meet every threshold."""

contributions = st.lists(
    st.tuples(
        st.sampled_from(RATINGS),
        st.sampled_from(["supports", "refutes", "mixed", None]),
        st.sampled_from([0.05, 0.25, 0.5, 0.75, 1.0]),
    ),
    min_size=1,
    max_size=4,
)


@given(
    st.tuples(steps, steps, steps),
    st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.0, 0.5, 1.0])),
    contributions,
    st.sampled_from([0.0, 0.25, 1.0]),
    st.sampled_from([0.0, 0.2, 0.6]),
    st.sampled_from(["embedded", "labels", "llm"]),
)
def test_a_settled_vote_stands_whatever_the_missing_sources_say(
    weights: tuple[int, int, int],
    reliable_shares: tuple[float, float],
    missing: list[tuple[Rating, str | None, float]],
    min_weight: float,
    min_margin: float,
    basis: Basis,
) -> None:
    config = VerdictsConfig(min_weight=min_weight, min_margin=min_margin)
    supports, refutes, mixed = (step * UNIT // 20 for step in weights)
    seen = Tally(
        supports,
        refutes,
        mixed,
        round(supports * reliable_shares[0]),
        round(refutes * reliable_shares[1]),
    )
    true = seen
    for rating, side, share in missing:
        if side is None:
            continue
        added = round(UNIT * VOTE_WEIGHTS[rating] * share)
        true = replace(true, **{side: getattr(true, side) + added})
        if rating in RELIABLE and side != "mixed":
            name = f"reliable_{side}"
            true = replace(true, **{name: getattr(true, name) + added})
    settled = settled_vote(seen, [rating for rating, _, _ in missing], config, basis)
    if settled is not None:
        in_full = decide(true, config, basis)
        least, most = settled
        assert least.stance == decide(seen, config, basis).stance == in_full.stance
        assert least.score - 1e-6 <= in_full.score <= most.score + 1e-6


@pytest.mark.parametrize(
    ("sides", "missing"),
    [
        # One of the two supports, the other refutes: a conflict that neither makes alone.
        ((1.35, 1.35, 0.0, 1.35, 1.35), ("medium", "medium")),
        # Mixed, for the mixed sources outweigh both sides; still mixed if both support, for then
        # reliable sources stand on both sides; but not if only the unreliable one does.
        ((1.7, 0.5, 1.9, 0.0, 0.5), ("unknown", "high")),
    ],
)
def test_a_vote_that_some_missing_sources_together_could_change_is_not_settled(
    sides: tuple[float, ...], missing: tuple[Rating, ...]
) -> None:
    config = VerdictsConfig(min_weight=2.0 if sides[2] == 0 else 0.25, min_margin=0.6)
    counted = Tally(*(round(UNIT * side) for side in sides))
    assert settled_vote(counted, missing, config, "llm") is None


def test_much_is_settled_although_something_is_missing() -> None:
    settled = {
        decide(counted, CONFIG, "embedded").stance
        for supports in range(0, 200, 5)
        for refutes in range(0, 200, 5)
        for counted in [
            Tally(*(UNIT * side // 20 for side in (supports, refutes, 0, supports, refutes)))
        ]
        if settled_vote(counted, ["unknown"], CONFIG, "embedded")
    }
    assert settled == {"supports", "refutes", "mixed", "unclear"}
    assert settled_vote(Tally(), ["low"], CONFIG, "llm")


STORIES = [own_words(name) for name in ("first", "second", "third")]
TEXTS = [*STORIES, STORIES[0] + " " + STORIES[1], STORIES[1] + " " + STORIES[2]]

sources = st.lists(
    st.tuples(
        st.sampled_from(STANCES),
        st.sampled_from(RATINGS),
        st.sampled_from([0.05, 0.3, 0.6, 1.0]),
        st.sampled_from(["one.example", "two.example", None, None, None]),
        st.sampled_from([None, None, *TEXTS]),
        st.booleans(),
    ),
    max_size=14,
)


@pytest.mark.parametrize("basis", ["embedded", "labels", "llm"])
def test_one_unlisted_page_settles_nothing_and_two_or_a_listed_one_may(basis: Basis) -> None:
    lone = [a_source("a", "supports", "unknown", confidence=1.0)]
    assert verdict_on(lone, basis=basis).stance == "unclear"
    two = [*lone, a_source("b", "supports", "unknown", confidence=1.0)]
    assert verdict_on(two, basis=basis).stance == "supports"
    listed = [a_source("a", "supports", "medium", confidence=0.8)]
    assert verdict_on(listed, basis=basis).stance == "supports"


def test_pages_that_one_small_model_reads_are_correlated_witnesses() -> None:
    def score(supporting: int, refuting: int = 0) -> float:
        sides: list[tuple[Stance, int]] = [("supports", supporting), ("refutes", refuting)]
        rows = [
            a_source(f"{side}{at}", side, "medium", confidence=0.6)
            for side, count in sides
            for at in range(count)
        ]
        return verdict_on(rows, basis="labels").confidence_score or 0.0

    assert 0.6 < score(1) < score(2) < score(6) <= 0.9
    assert score(4, 1) < score(4)


def test_one_plain_page_is_of_medium_confidence_and_two_sides_are_mixed() -> None:
    said = a_source("a", "supports", "medium", confidence=0.8, ground="assertion")
    denied = a_source("b", "refutes", "medium", confidence=0.8, ground="denial")
    alone = verdict_on([said], basis="embedded")
    assert (alone.stance, alone.confidence) == ("supports", "medium")
    assert verdict_on([said, denied], basis="embedded").stance == "mixed"
    # An unreliable source does not count against it.
    lie = denied.model_copy(update={"rating": "very_low"})
    assert verdict_on([said, lie], basis="embedded").stance == "supports"


@example(
    [
        ("supports", "unknown", 0.05, "one.example", None, False),
        ("refutes", "high", 0.05, "one.example", None, False),
        ("refutes", "high", 0.6, "two.example", None, True),
        ("refutes", "high", 0.6, "one.example", None, False),
        ("refutes", "high", 0.6, "two.example", None, False),
        ("refutes", "high", 0.6, None, None, True),
    ],
    "llm",
    0.0,
    0.0,
)
@given(
    sources,
    st.sampled_from(["embedded", "labels", "llm"]),
    st.sampled_from([0.0, 0.25, 1.0]),
    st.sampled_from([0.0, 0.2, 0.6]),
)
def test_under_faults_a_verdict_equals_the_fault_free_one_or_is_incomplete(
    drawn: list[tuple[Stance, Rating, float, str | None, str | None, bool]],
    basis: Basis,
    min_weight: float,
    min_margin: float,
) -> None:
    config = VerdictsConfig(min_weight=min_weight, min_margin=min_margin)
    whole, faulty = [], []
    for number, (stance, rating, confidence, domain, text, fails) in enumerate(drawn):
        row = a_source(
            f"s{number}", stance, rating, confidence=confidence, domain=domain, text=text
        )
        whole.append(row)
        missing = a_source(f"s{number}", None, rating, domain=domain)
        faulty.append(missing if fails else row)
    true = verdict_on(whole, texts=TEXTS, config=config, basis=basis)
    seen = verdict_on(faulty, texts=TEXTS, config=config, basis=basis)
    assert true.status == "complete"
    if seen.status == "complete":
        assert seen.stance == true.stance
        assert (seen.confidence_score or 0) <= (true.confidence_score or 0) + 1e-6
        assert seen.confidence == true.confidence or seen.recheck_due
    else:
        assert seen.stance is None


worlds = st.tuples(
    st.lists(
        st.tuples(
            st.integers(0, 11),
            st.sampled_from(STANCES),
            st.sampled_from(["high", "high", "medium", None]),
        ),
        min_size=12,
        max_size=12,
    ),
    st.lists(
        st.lists(st.integers(0, 11), min_size=1, max_size=6, unique=True), min_size=2, max_size=3
    ),
    st.sets(
        st.one_of(
            st.tuples(st.sampled_from(["fetch", "age", "read"]), st.integers(0, 11)),
            st.tuples(st.just("search"), st.integers(0, 2)),
            st.tuples(st.just("queries"), st.just(0)),
        ),
        max_size=4,
    ),
)


@given(worlds)
async def test_no_fault_anywhere_in_the_flow_changes_a_complete_verdict(
    drawn: tuple[list[tuple[int, Stance, Rating | None]], list[list[int]], set[tuple[str, int]]],
) -> None:
    sites, results, faults = drawn
    world = World()
    for number, (story, stance, rating) in enumerate(sites):
        domain = f"site{number}.example"
        world.texts[f"https://{domain}/"] = says(CLAIM.text, stance, 1.0, own_words(f"s{story}"))
        world.years[domain] = 20.0
        if rating:
            world.listed[domain] = rating
    for place, found in enumerate(results):
        hits = [Hit(rank, "", f"https://site{site}.example/") for rank, site in enumerate(found, 1)]
        world.results[f"q{place}"] = [hits]
    world.queries[CLAIM.text] = [
        QueryDraft(f"q{place}", "direct", 1) for place in range(len(results))
    ]
    config = FactCheckConfig(search=SearchConfig(max_results=4))
    true = (await check_claims(VIDEO, [CLAIM], world.services(), config)).verdicts[0]
    keys = {
        "fetch": "https://site{}.example/",
        "read": "https://site{}.example/",
        "age": "site{}.example",
        "search": "q{}",
        "queries": CLAIM.text,
    }
    world.broken = {(kind, keys[kind].format(number)) for kind, number in faults}
    seen = (await check_claims(VIDEO, [CLAIM], world.services(), config)).verdicts[0]
    assert true.status == "complete"
    if seen.status == "complete":
        assert seen.stance == true.stance
        assert seen.confidence == true.confidence or seen.recheck_due
