"""Reviewers' corrections of claims survive later extractions and checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from factible_assets.config import ClaimsConfig, FactCheckConfig
from factible_assets.records.rows import VideoRows
from factible_assets.records.tables import Claim, ReviewAction, Transcript, TranscriptSegment
from factible_assets.stages.claims import build_claims, corrected_claims
from factible_assets.stages.flow import check_claims
from factible_assets.stages.ids import claim_id, content_hash, query_id
from factible_assets.stages.integrity import judge
from factible_assets.stages.localisation import similarity
from factible_assets.stages.ports import ClaimDraft, ClaimDrafts
from factible_assets.stages.reviews import (
    NO_CORRECTIONS,
    applied_by,
    by_claim,
    claims_in_force,
    corrections_by_claim,
    latest,
    with_overrulings,
)
from tests.stages.test_reviews import act as act_on
from tests.stages.test_reviews import world
from tests.stages.world import VIDEO

WORDS = ("The moon is round", "The sun is cold", "Bees sleep", "Rain is wet", "Salt is sweet")
TEXT = "Well. The moon is round. They say the sun is cold! And bees sleep, rain is wet too."
TRANSCRIPT = Transcript(
    video_id=VIDEO.video_id, text=TEXT, provider="file", content_hash=content_hash(TEXT)
)
SEGMENTS = [
    TranscriptSegment(
        video_id=VIDEO.video_id,
        position=place,
        start_seconds=10.0 * place,
        duration_seconds=10.0,
        char_start=start,
        char_end=start + 20,
    )
    for place, start in enumerate(range(0, len(TEXT) - 20, 20))
]


def named(words: str) -> str:
    return claim_id(VIDEO.video_id, words)


def act(number: int, action: str, on: str, **fields: Any) -> ReviewAction:
    fields.setdefault("reason", "why")
    return act_on(number, action, claim_id=named(on), **fields)


def found(*words: str) -> tuple[Claim, ...]:
    """Return found claims with these words, the most important first."""
    drafts = [ClaimDraft(each, 0.9 - 0.1 * place, 0.8) for place, each in enumerate(words)]
    return build_claims(
        ClaimDrafts("All is well.", tuple(drafts)),
        TRANSCRIPT,
        SEGMENTS,
        ClaimsConfig(),
        basis="llm",
    )


def corrected(
    claims: Sequence[Claim], actions: Sequence[ReviewAction], known: Sequence[Claim] = ()
) -> tuple[Claim, ...]:
    ever = {claim.claim_id: claim for claim in known}
    return corrected_claims(claims, actions, ever, TRANSCRIPT, SEGMENTS)


def texts(claims: Sequence[Claim]) -> list[str]:
    return [claim.text for claim in claims]


@st.composite
def histories(draw: st.DrawFn) -> list[ReviewAction]:
    kinds = ["reword_claim", "split_claim", "drop_claim", "restore_claim", "add_claim"]
    actions = []
    for number in range(draw(st.integers(0, 8))):
        kind, on = draw(st.sampled_from(kinds)), draw(st.sampled_from(WORDS))
        value = {
            "reword_claim": draw(st.sampled_from(WORDS)),
            "split_claim": "\n".join(draw(st.permutations(WORDS))[:2]),
            "drop_claim": None,
        }.get(kind, on)
        actions.append(act(number, kind, on, value=value))
    return actions


subsets = st.lists(st.sampled_from(WORDS), unique=True, max_size=5)


@example(
    [
        act(0, "split_claim", WORDS[1], value="\n".join(WORDS[:2])),
        act(1, "reword_claim", WORDS[0], value=WORDS[1]),
        act(2, "restore_claim", WORDS[0], value=WORDS[0]),
    ],
    [],
    [],
)
@given(histories(), subsets, st.lists(subsets, max_size=3))
def test_reviewers_corrections_survive_every_extraction(
    actions: list[ReviewAction], first: list[str], later: list[list[str]]
) -> None:
    force = claims_in_force(actions)
    ever: dict[str, Claim] = {}
    for words in [first, *later]:
        now = corrected(found(*words), actions, list(ever.values()))
        ids = [claim.claim_id for claim in now]
        # Worded claims stay and dropped claims go, for any found claims.
        assert {each for each in force.worded if each not in force.gone} <= set(ids)
        assert not set(ids) & force.gone.keys()
        for claim in now:
            if claim.claim_id in force.worded:
                assert claim.text == force.worded[claim.claim_id].text
        # A claim without an action changes only its rank.
        touched = force.names.keys() | force.worded.keys() | force.gone.keys()
        untouched = [claim for claim in found(*words) if claim.claim_id not in touched]
        kept = {claim.claim_id: claim.model_copy(update={"rank": 1}) for claim in now}
        for claim in untouched:
            assert kept[claim.claim_id] == claim.model_copy(update={"rank": 1})
        # Ids follow from words, ranks from importance, places from the transcript.
        rows = VideoRows(
            videos=[VIDEO], transcripts=[TRANSCRIPT], segments=SEGMENTS, claims=list(now)
        )
        assert [str(broken) for one in judge(["claims"], rows) for broken in one.violations] == []
        assert corrected(now, actions, list(ever.values())) == now
        ever |= {claim.claim_id: claim for claim in now}


@given(histories(), st.randoms())
def test_the_order_of_actions_does_not_matter(actions: list[ReviewAction], random: Any) -> None:
    shuffled = [*actions, *actions[:2]]
    random.shuffle(shuffled)
    assert claims_in_force(shuffled) == claims_in_force(actions)


def test_a_reworded_claim_stands_where_the_first_was_said_and_is_no_less_important() -> None:
    before = found(*WORDS[:2])
    now = corrected(before, [act(1, "reword_claim", WORDS[1], value="The sun is very cold")])
    assert texts(now) == [WORDS[0], "The sun is very cold"]
    assert (now[1].basis, now[1].claim_id) == ("reviewer", named("The sun is very cold"))
    place = now[1].char_start, now[1].char_end, now[1].start_seconds, now[1].importance
    old = before[1]
    assert place == (old.char_start, old.char_end, old.start_seconds, old.importance)
    assert now[0] == before[0]


def test_an_added_claim_stands_where_it_was_said_or_without_a_place() -> None:
    said = [act(1, "add_claim", "Bees rest", value="Bees rest", target="bees sleep, rain")]
    (placed,) = corrected((), said)
    assert TEXT[placed.char_start : placed.char_end] == "bees sleep, rain"
    assert placed.start_seconds is not None
    (bare,) = corrected((), [act(1, "add_claim", "Zinc rusts", value="Zinc rusts")])
    assert (bare.char_start, bare.start_seconds, bare.basis) == (None, None, "reviewer")


def test_parts_replace_the_whole_until_it_is_restored() -> None:
    split = act(1, "split_claim", WORDS[0], value="The moon is a ball\nThe moon is white")
    now = corrected(found(*WORDS[:2]), [split])
    assert texts(now) == ["The moon is a ball", "The moon is white", WORDS[1]]
    back = [split, act(2, "restore_claim", WORDS[0], value=WORDS[0])]
    restored = corrected(now, back, found(*WORDS[:2]))
    assert texts(restored) == [WORDS[0], WORDS[1]]
    assert restored[0].basis == "llm"


def test_work_follows_a_reworded_claim_and_judgements_of_its_words_do_not() -> None:
    old, new = WORDS[0], "The moon is a ball"
    url = "https://a.example/x"
    acts = [
        act(1, "add_query", old, value="moon ball", query_id=query_id(named(old), "moon ball")),
        act(2, "block_source", old, target="b.example"),
        act(3, "overrule_source", old, target=url, value="refutes"),
        act(4, "overrule_source", old, target=url, value="very_low"),
        act(5, "assign", old, value="Ana"),
        act(6, "sign", old, value="Supported", stance="supports", target="factible"),
        act(7, "reword_claim", old, value=new),
    ]
    mine = corrections_by_claim(acts)[named(new)]
    assert [(each.query_id, each.text) for each in mine.queries] == [
        (query_id(named(new), "moon ball"), "moon ball")
    ]
    assert mine.sources.keys() == {"b.example"}
    assert not mine.stances
    assert mine.ratings.keys() == {url}
    done = by_claim(acts)[named(new)]
    assert done == acts
    assigned = latest("assign", done)
    assert assigned is not None
    assert assigned.value == "Ana"
    assert latest("sign", done, named(new)) is None
    assert latest("sign", done, named(old)) == acts[5]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["reword", "add", "edit", "remove", "block", "source", "rate"]),
            st.sampled_from(["alpha", "beta", "gamma"]),
            st.sampled_from(["alpha", "beta", "gamma"]),
        ),
        max_size=12,
    )
)
def test_a_rewording_keeps_the_earlier_actions(steps: list[tuple[str, str, str]]) -> None:
    wordings = ["The moon is round", *(f"The moon is round {n}" for n in range(len(steps)))]
    last = wordings[sum(kind == "reword" for kind, _, _ in steps)]

    def history(*, moves: bool) -> list[ReviewAction]:
        """Actions on a claim with a rewording in between, or all on its last words."""
        acts, now = [], 0
        for number, (kind, one, other) in enumerate(steps):
            on = wordings[now] if moves else last
            if kind == "reword":
                now += 1
                if moves:
                    acts.append(act(number, "reword_claim", on, value=wordings[now]))
                continue
            query = {"query_id": query_id(named(on), other), "value": other}
            old = query_id(named(on), one)
            action, fields = {
                "add": ("add_query", query),
                "edit": ("edit_query", {**query, "target": old}),
                "remove": ("remove_query", {"target": old}),
                "block": ("block_source", {"target": f"{one}.example"}),
                "source": ("add_source", {"target": f"https://{one}.example/", "value": other}),
                "rate": ("overrule_source", {"target": f"https://{one}.example/", "value": "low"}),
            }[kind]
            acts.append(act(number, action, on, **fields))
        return acts

    moved = corrections_by_claim(history(moves=True)).get(named(last), NO_CORRECTIONS)
    stayed = corrections_by_claim(history(moves=False)).get(named(last), NO_CORRECTIONS)
    acts = [{key: each.action_id for key, each in of.sources.items()} for of in (moved, stayed)]
    assert acts[0] == acts[1]
    assert moved.ratings.keys() == stayed.ratings.keys()
    assert {each.text for each in moved.queries} >= {each.text for each in stayed.queries}
    assert all(each.query_id == query_id(named(last), each.text) for each in moved.queries)


def test_an_act_on_claims_is_applied_by_the_run_that_checks_their_words() -> None:
    acts = [
        act(1, "reword_claim", WORDS[0], value="The moon is a ball"),
        act(2, "drop_claim", WORDS[1]),
        act(3, "block_source", WORDS[0], target="b.example"),
    ]
    stages = frozenset({"queries", "search_hits", "evidence", "verdicts"})
    assert applied_by(acts, frozenset(), stages) == ("a2",)
    checked = frozenset({named("The moon is a ball")})
    assert applied_by(acts, checked, stages) == ("a1", "a2", "a3")


async def test_an_overruled_source_votes_as_the_reviewer_says_and_both_are_kept() -> None:
    place = world()
    (claim,) = found("the moon is round")
    before = await check_claims(VIDEO, [claim], place.services(), FactCheckConfig())
    url = "https://a.example/x"
    read = next(row for row in before.evidence if row.canonical_url == url)
    assert (read.stance, before.verdicts[0].stance) == ("supports", "mixed")
    on_it = {"claim_id": claim.claim_id, "target": url, "reason": "It is a joke"}
    acts = [
        act_on(1, "overrule_source", value="refutes", **on_it),
        act_on(2, "overrule_source", value="low", **on_it),
    ]
    after = await check_claims(
        VIDEO,
        [claim],
        world().services(),
        FactCheckConfig(),
        corrections=corrections_by_claim(acts),
    )
    row = next(each for each in after.evidence if each.canonical_url == url)
    assert (row.stance, row.machine_stance) == ("refutes", "supports")
    assert (row.rating, row.machine_rating) == ("low", read.rating)
    assert "Overruled by desk on 2026-01-02, supports to refutes: It is a joke." in str(row.reason)
    assert after.verdicts[0].stance == "refutes"
    others = [each for each in after.evidence if each.canonical_url != url]
    assert others == [each for each in before.evidence if each.canonical_url != url]
    back = [*acts, act_on(3, "overrule_source", value=None, **on_it)]
    again = await check_claims(
        VIDEO,
        [claim],
        world().services(),
        FactCheckConfig(),
        corrections=corrections_by_claim(back),
    )
    assert again.evidence == before.evidence
    same = corrections_by_claim([act_on(1, "overrule_source", value=read.rating, **on_it)])
    confirmed = with_overrulings(read, same[claim.claim_id])
    assert f"Confirmed by desk on 2026-01-02, rating {read.rating}:" in str(confirmed.reason)


def test_a_claim_keeps_its_place_in_either_order_of_its_score() -> None:
    said = "dozen trials a moon bats makes that makes makes blind hyper dozen hyper makes a bats"
    claim = ClaimDraft("bats makes that makes trials hyper active", 0.9, 0.8)
    transcript = TRANSCRIPT.model_copy(update={"text": said})
    drafts = ClaimDrafts(None, (claim,))
    (old,) = build_claims(drafts, transcript, (), ClaimsConfig(), basis="llm")
    assert old.char_start is not None
    other_order = similarity(old.text, said[old.char_start : old.char_end])
    assert other_order != old.match_score
    reworded = [act(1, "reword_claim", old.text, value="Zebras never fly")]
    for score in (old.match_score, other_order):
        known = old.model_copy(update={"match_score": score})
        (new,) = corrected_claims([known], reworded, {}, transcript, ())
        assert (new.text, new.char_start) == ("Zebras never fly", old.char_start)
