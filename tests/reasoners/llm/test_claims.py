from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factible_assets.config import ClaimsConfig
from factible_assets.reasoners.llm.answers import ClaimsAnswer
from factible_assets.reasoners.llm.claims import (
    Window,
    Windowing,
    drafts_so_far,
    drops_denial,
    rests_on,
    windows,
)
from factible_assets.reasoners.llm.engine import ReadingLimits
from factible_assets.stages.claims import build_claims
from factible_assets.stages.ports import ClaimDraft, ClaimDrafts, ReasonerOutageError
from resources.llm.base import ContextTooLongError, ModelOutageError
from tests.reasoners.llm.scripted import ScriptedModel, report, staged, take_apart
from tests.reasoners.material import VIDEO, reasoner, transcript

SAID = (
    "so um sugar makes children hyperactive and i have studied this at yale for ten years and in "
    "2019 the average child ate forty kilos of sugar which is a lot do you like sugar i do"
)


def stated(
    text: str, source: str = "sugar makes children hyperactive", **other: Any
) -> dict[str, Any]:
    return {
        "source": source,
        "text": text,
        "context": None,
        "category": "Health",
        "kind": "fact",
        "bears_on_thesis": True,
        "tier": "pillar",
        "importance": 0.9,
        "confidence": 0.8,
        **other,
    }


def answer(
    *claims: dict[str, Any], thesis: str = "Sugar is bad.", expertise: bool = False
) -> dict[str, Any]:
    return {"thesis": thesis, "thesis_is_about_expertise": expertise, "claims": list(claims)}


async def drafts(*answers: Any, text: str = SAID, max_claims: int = 5) -> ClaimDrafts:
    llm, _ = reasoner(*answers)
    judged = await llm.extract_claims(VIDEO, transcript(text), (), max_claims=max_claims)
    return judged.value


async def only(claim: dict[str, Any], *, expertise: bool = False) -> ClaimDraft:
    found = await drafts(answer(claim, expertise=expertise))
    assert len(found.claims) == 1
    return found.claims[0]


@pytest.mark.parametrize(
    ("tier", "said", "kept"),
    [
        ("pillar", 0.2, 0.85),
        ("pillar", 0.97, 0.97),
        ("evidence", 0.99, 0.80),
        ("evidence", 0.5, 0.60),
        ("background", 0.7, 0.55),
        ("background", 0.1, 0.30),
        ("aside", 0.9, 0.25),
        ("PILLAR ", 0.9, 0.9),
    ],
)
async def test_importance_lies_in_the_range_of_its_tier(
    tier: str, said: float, kept: float
) -> None:
    claim = await only(stated("Sugar makes children hyperactive.", tier=tier, importance=said))
    assert claim.importance == kept


async def test_a_credential_is_capped_unless_the_thesis_is_about_expertise() -> None:
    credential = stated(
        "The speaker studied this at Yale.", "i have studied this at yale", kind="credential"
    )
    assert (await only(credential)).importance == 0.30
    assert (await only(credential, expertise=True)).importance == 0.9


async def test_a_claim_off_the_thesis_is_capped() -> None:
    aside = stated("Sugar makes children hyperactive.", bears_on_thesis=False)
    assert (await only(aside)).importance == 0.25


@pytest.mark.parametrize("kind", ["opinion", "prediction", "question"])
async def test_statements_that_cannot_be_checked_are_dropped(kind: str) -> None:
    found = await drafts(answer(stated("Sugar makes children hyperactive.", kind=kind)))
    assert found.claims == ()


async def test_the_embedded_engine_replaces_a_model_that_only_describes_the_video() -> None:
    about = stated("The video presents the journey of sugar.", "It is about sugar and its journey.")
    found = await drafts(answer(about, thesis="Sugar travels."))
    assert "Sugar makes children hyperactive." in [claim.text for claim in found.claims]
    assert (found.basis, found.thesis, found.refused) == ("embedded", "Sugar travels.", 1)
    # The embedded engine reads only English.
    german = "Zucker macht Kinder unruhig, sagen viele Leute, und das schon seit sehr langer Zeit. "
    found = await drafts(answer(about), text=german * 5)
    assert (found.claims, found.basis, found.refused) == ((), None, 1)


async def test_an_invented_claim_is_dropped() -> None:
    invented = stated(
        "The moon landing was filmed in Nevada by Stanley Kubrick.", "moon nevada film"
    )
    found = await drafts(answer(invented, stated("Sugar makes children hyperactive.")))
    assert [claim.text for claim in found.claims] == ["Sugar makes children hyperactive."]


async def test_a_claim_is_placed_where_its_source_was_said() -> None:
    claim = await only(
        stated(
            "In 2019, the average child ate 40 kg of sugar.",
            "In 2019, the average child ate forty kilos of sugar",
        )
    )
    assert claim.char_start is not None
    assert SAID[claim.char_start : claim.char_end] == (
        "in 2019 the average child ate forty kilos of sugar"
    )


async def test_the_code_enforces_lengths() -> None:
    long = " ".join(["word"] * 45)
    claim = await only(stated(f"Sugar makes children hyperactive. {long}.", context=long))
    assert claim.text == "Sugar makes children hyperactive."
    assert claim.context is not None
    assert len(claim.context.split()) == 20
    found = await drafts(answer(stated(long), thesis=long))
    assert found.claims[0].text == "Sugar makes children hyperactive"
    assert found.thesis is not None
    assert len(found.thesis.split()) == 25


async def test_repetitions_are_dropped_but_not_opposites_or_other_figures() -> None:
    found = await drafts(
        answer(
            stated("Sugar makes children hyperactive.", importance=0.95),
            stated("sugar makes children hyperactive"),
            stated("Sugar never makes children hyperactive."),
            stated("Sugar makes 10 children hyperactive."),
        )
    )
    assert [claim.text for claim in found.claims] == [
        "Sugar makes children hyperactive.",
        "Sugar never makes children hyperactive.",
        "Sugar makes 10 children hyperactive.",
    ]


@pytest.mark.parametrize(
    "invented",
    [
        "The senator stole forty million dollars from a children's hospital.",
        "Sugar makes children in Norway hyperactive.",
        "Sugar makes 93 percent of children hyperactive.",
    ],
)
async def test_a_claim_that_says_more_than_its_source_is_refused_and_counted(invented: str) -> None:
    text = "Welcome. So um sugar makes children hyperactive, I have seen it myself. Goodbye then."
    said = stated("Sugar makes children hyperactive.", "sugar makes children hyperactive")
    lie = stated(invented, "sugar makes children hyperactive")
    found = await drafts(answer(lie, said), text=text)
    assert [claim.text for claim in found.claims] == ["Sugar makes children hyperactive."]
    assert found.refused == 1


@pytest.mark.parametrize(
    ("said", "claimed", "rests"),
    [
        ("50% in 2015", "5% in 2015", False),
        ("3.5 million", "35 million", False),
        ("3.5 million", "5 million", False),
        ("3.5 million", "3,500,000", True),
        ("1 000", "1,000", True),
        ("2 million", "2,000,000 and X-35", False),
        ("COVID 19 300,000", "300,000", True),
        ("12.3.2020", "2020", True),
        ("1,50", "1.5", True),
    ],
)
def test_a_claim_has_only_whole_figures_of_its_source(said: str, claimed: str, rests: bool) -> None:
    frame = "It was in the end said that {} of them had a cold."
    source = frame.format(said)
    assert rests_on(frame.format(claimed), source, source) is rests


@pytest.mark.parametrize(
    ("said", "is_dropped"),
    [
        ("Vaccines do not actually cause autism.", True),
        ("It is not true that vaccines cause autism.", True),
        ("Vaccines have never been shown to cause autism.", True),
        ("I don't believe vaccines just cause autism.", True),
        ("There is no evidence that vaccines cause autism.", True),
        ("Nobody can deny that vaccines cause autism.", False),
        ("Most of you don't know that vaccines cause autism.", False),
        ("Stay and don't vaccinate because vaccines cause autism.", False),
        ("Vaccines without salt cause autism.", False),
    ],
)
def test_a_negation_reaches_to_the_end_of_its_clause(said: str, is_dropped: bool) -> None:
    assert drops_denial("Vaccines cause autism.", said) is is_dropped


@pytest.mark.parametrize(
    ("said", "turned", "kept"),
    [
        (
            "doctors know that vaccines do not cause autism in children",
            "Vaccines cause autism in children.",
            "Vaccines don't cause autism in children.",
        ),
        (
            "there is no link between vaccines and autism",
            "There is a link between vaccines and autism.",
            "Vaccines have no link to autism.",
        ),
        ("a lamp isn’t safe in water", "A lamp is safe in water.", "A lamp is unsafe in water."),
    ],
)
async def test_a_claim_without_the_denial_of_its_source_is_refused_and_counted(
    said: str, turned: str, kept: str
) -> None:
    found = await drafts(answer(stated(turned, said), stated(kept, said)), text=f"Well, {said}.")
    assert [claim.text for claim in found.claims] == [kept]
    assert found.refused == 1


@pytest.mark.parametrize(
    "said",
    [
        "there is no doubt that sugar raises blood pressure",
        "sugar raises not only blood sugar but also blood pressure",
        "sugar and not salt raises blood pressure",
        "no, sugar raises blood pressure",
        "salt does not raise it but sugar raises blood pressure",
    ],
)
async def test_a_negation_of_something_else_refuses_no_claim(said: str) -> None:
    claim = stated("Sugar raises blood pressure.", said)
    found = await drafts(answer(claim), text=f"Well, {said}.")
    assert [each.text for each in found.claims] == [claim["text"]]


async def test_the_drafts_become_located_claims_of_the_stage() -> None:
    found = await drafts(answer(stated("Sugar makes children hyperactive.")))
    claims = build_claims(found, transcript(SAID), (), ClaimsConfig(), basis="llm")
    assert claims[0].match_score == pytest.approx(1.0)
    assert claims[0].thesis == "Sugar is bad."
    assert claims[0].category == "health"


# --- Long transcripts -----------------------------------------------------------------------------


@given(st.text(max_size=3_000), st.integers(20, 400), st.integers(0, 10))
def test_windows_cover_a_text_and_overlap(text: str, size: int, overlap: int) -> None:
    spans = windows(text, Windowing(size, overlap))
    ends = [each.start + len(each.text) for each in spans]
    assert all(text[each.start : end] == each.text for each, end in zip(spans, ends, strict=True))
    assert (spans[0].start, ends[-1]) == (0, len(text))
    assert all(after.start <= end for after, end in zip(spans[1:], ends, strict=False))
    assert all(len(each.text) <= size + 100 for each in spans)


LONG = " ".join(f"Filler sentence number {number} says nothing much." for number in range(60))
TWO_HALVES = f"Sugar makes children hyperactive. {LONG} Honey keeps for three thousand years."
SMALL = ReadingLimits(transcript=Windowing(1_600, 200))


def by_stretch(prompt: str) -> dict[str, Any]:
    text = take_apart(prompt).data("transcript")
    claims = []
    if "hyperactive" in text:
        claims.append(
            stated("Sugar makes children hyperactive.", "Sugar makes children hyperactive")
        )
    if "Honey" in text:
        claims.append(
            stated(
                "Honey keeps for 3,000 years.",
                "Honey keeps for three thousand years",
                tier="background",
                importance=0.4,
            )
        )
    return answer(*claims, thesis="A stretch's thesis.")


async def test_a_long_transcript_is_read_in_windows_and_ranked_against_one_thesis() -> None:
    merged = {
        "thesis": "Honey beats sugar.",
        "thesis_is_about_expertise": False,
        "claims": [
            {"number": 2, "bears_on_thesis": True, "tier": "pillar", "importance": 0.95},
            {"number": 1, "bears_on_thesis": True, "tier": "evidence", "importance": 0.7},
            {"number": 99, "bears_on_thesis": True, "tier": "pillar", "importance": 1.0},
        ],
    }
    count = len(windows(TWO_HALVES, Windowing(1_600, 200)))
    assert count > 1
    llm, model = reasoner(*([by_stretch] * count), merged, limits=SMALL)
    judged = await llm.extract_claims(VIDEO, transcript(TWO_HALVES), (), max_claims=5)
    assert judged.value.thesis == "Honey beats sugar."
    assert [(claim.text, claim.importance) for claim in judged.value.claims] == [
        ("Honey keeps for 3,000 years.", 0.95),
        ("Sugar makes children hyperactive.", 0.7),
    ]
    for claim, said in zip(judged.value.claims, ("Honey keeps", "Sugar makes"), strict=True):
        assert claim.char_start is not None
        assert TWO_HALVES[claim.char_start :].startswith(said)
    assert [call.attempt for call in judged.calls] == list(range(1, count + 2))
    assert "stretch 1 of" in model.prompts[0]
    assert judged.value.left_out == 0


async def test_the_claims_of_a_long_transcript_beyond_the_limit_are_counted() -> None:
    ranked = {"number": 2, "bears_on_thesis": True, "tier": "pillar", "importance": 0.95}
    merged = {"thesis": "T", "thesis_is_about_expertise": False, "claims": [ranked]}
    count = len(windows(TWO_HALVES, Windowing(1_600, 200)))
    llm, _ = reasoner(*([by_stretch] * count), merged, limits=SMALL)
    judged = await llm.extract_claims(VIDEO, transcript(TWO_HALVES), (), max_claims=1)
    assert (len(judged.value.claims), judged.value.left_out) == (1, 1)


@pytest.mark.parametrize(("count", "shares"), [(3, [2, 2, 1]), (7, [1] * 5 + [0] * 2)])
def test_the_checks_that_begin_early_are_no_more_than_the_claims_that_stay(
    count: int, shares: list[int]
) -> None:
    animals = ("Bees dance", "Ants carry", "Cats sleep", "Dogs bark")
    said = [f"{animal} in the garden every day." for animal in animals]
    written = ClaimsAnswer.model_validate(answer(*(stated(each, each) for each in said)))
    read = [Window(" ".join(said), number=at, count=count) for at in range(1, count + 1)]
    begun = [len(drafts_so_far("Title", each, written, max_claims=5).claims) for each in read]
    assert begun == shares


async def test_a_credential_stays_capped_after_the_merge() -> None:
    def read(prompt: str) -> dict[str, Any]:
        if "Honey" not in take_apart(prompt).data("transcript"):
            return answer()
        return answer(
            stated("Honey keeps.", "Honey keeps for three thousand years", kind="credential")
        )

    merged = {
        "thesis": "T",
        "thesis_is_about_expertise": False,
        "claims": [{"number": 1, "bears_on_thesis": True, "tier": "pillar", "importance": 1.0}],
    }
    count = len(windows(TWO_HALVES, Windowing(1_600, 200)))
    llm, _ = reasoner(*([read] * count), merged, limits=SMALL)
    judged = await llm.extract_claims(VIDEO, transcript(TWO_HALVES), (), max_claims=5)
    assert [claim.importance for claim in judged.value.claims] == [0.30]


async def test_a_window_that_fails_is_an_outage_with_the_calls_of_all_windows() -> None:
    failure = ModelOutageError("The model is down.", [report(outcome="infra_error")])
    llm, _ = reasoner(by_stretch, failure, by_stretch, limits=SMALL)
    with pytest.raises(ReasonerOutageError, match="down") as outage:
        await llm.extract_claims(VIDEO, transcript(TWO_HALVES), (), max_claims=5)
    assert [call.outcome for call in outage.value.calls].count("infra_error") == 1
    assert len(outage.value.calls) > 1


async def test_windows_that_exceed_the_context_are_halved() -> None:
    class Narrow(ScriptedModel):
        async def complete(self, question: Any) -> Any:
            if sum(len(part.text) for part in question.parts) > 2_500:
                raise ContextTooLongError("The prompt does not fit.")
            return await super().complete(question)

    llm, _ = reasoner()
    merged = answer()
    model = Narrow([lambda prompt: merged if "Stretch 1" in prompt else by_stretch(prompt)])
    llm._models = staged(model)
    judged = await llm.extract_claims(VIDEO, transcript(TWO_HALVES), (), max_claims=5)
    assert {claim.text for claim in judged.value.claims} == {
        "Sugar makes children hyperactive.",
        "Honey keeps for 3,000 years.",
    }


async def test_more_claims_get_more_room_in_the_answer() -> None:
    llm, model = reasoner(answer())
    for count in (5, 8, 15):
        await llm.extract_claims(VIDEO, transcript(SAID), (), max_claims=count)
    assert [question.max_tokens for question in model.questions] == [1_200, 1_680, 3_010]
