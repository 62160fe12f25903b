"""An investigation against models that plan well, loop, contradict, invent and fall silent."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

import pytest

from factible_assets.config import config_of
from factible_assets.reasoners.llm.answers import (
    ExplanationAnswer,
    PlanAnswer,
    QueriesAnswer,
    Reading,
    ReasoningAnswer,
)
from factible_assets.reasoners.llm.engine import LlmReasoner
from factible_assets.records.rows import VideoRows
from factible_assets.records.tables import Claim, MediaFinding, Step
from factible_assets.stages.flow import FlowResult, check_claims
from factible_assets.stages.integrity import judge
from factible_assets.strategies import agentic, strategy_named
from resources.llm.base import (
    Answer,
    ModelAnswer,
    ModelError,
    ModelOutageError,
    ModelRequest,
    RefusedError,
)
from tests.reasoners.llm.scripted import Scripted, prompt_of, report, sentence, staged, take_apart
from tests.stages.world import VIDEO, Hit, World, make_claim, one_for_all, own_words

CLAIM = make_claim("In 2012, sugar made most children hyperactive.")
DENIAL = "Controlled trials have found no evidence that sugar makes children hyperactive"
ASSERTION = "In 2012, sugar made most children hyperactive, as one trial found"
LATER = VIDEO.model_copy(update={"published_on": date(2020, 1, 1)})

Says = Mapping[str, Any] | ModelError | Callable[[str], Mapping[str, Any] | ModelError]


def plan(
    *searches: str, statements: Sequence[str] = (), on_picture: bool = False
) -> dict[str, Any]:
    return {
        "rests_on_picture": on_picture,
        "reasoning_steps": [
            {"step": "Find trials", "technique": "Primary Source", "details": "Read them."}
        ],
        "validation_list": list(statements),
        "search_list": [{"information_needed": f"What of {s}?", "query": s} for s in searches],
    }


def numbers(prompt: str) -> list[int]:
    return [int(each) for each in re.findall(r"^Evidence (\d+):", prompt, re.MULTILINE)]


def thinks(label: str = "false", confidence: int = 3, *, useful: list[int] | None = None) -> Says:
    def answer(prompt: str) -> dict[str, Any]:
        shown = numbers(prompt) if useful is None else useful
        return {
            "understanding": "Sugar and behaviour.",
            "steps": [{"step": "Find trials", "analysis": "They found none.", "evidence": shown}],
            "useful": shown,
            "label": label,
            "confidence": confidence,
        }

    return answer


def explains(label: str = "false", confidence: int = 5, *cited: int) -> Says:
    def answer(prompt: str) -> dict[str, Any]:
        return {
            "reasoning": "The trials refute the claim.",
            "key_points": [{"point": "No trial found it.", "evidence": cited or numbers(prompt)}],
            "label": label,
            "confidence": confidence,
        }

    return answer


def reads(prompt: str) -> dict[str, Any]:
    """Read a page as the denial or the assertion that stands there."""
    denies = DENIAL in prompt
    return {
        "sentences": [sentence(prompt, DENIAL if denies else ASSERTION)],
        "summary": "Trials found nothing." if denies else "A trial found it.",
        "stance": "refutes" if denies else "supports",
        "confidence": 0.9,
        "relevance": 0.9,
    }


@dataclass
class Investigator(Scripted):
    """Answers by kind of question: one for each question, the last one for ever."""

    plans: list[Says]
    thoughts: list[Says] = field(default_factory=lambda: [thinks("false", 5)])
    explanations: list[Says] = field(default_factory=lambda: [explains()])
    searches: Sequence[str] | ModelError = ()
    prompts: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    input_tokens: int = 100

    async def complete(self, question: ModelRequest[Answer]) -> ModelAnswer[Answer]:
        kind = question.output_type
        prompt = prompt_of(question)
        self.prompts.append(prompt)
        self.asked.append(kind.__name__)
        of_kind: Mapping[type, list[Says]] = {
            PlanAnswer: self.plans,
            ReasoningAnswer: self.thoughts,
            ExplanationAnswer: self.explanations,
            Reading: [reads],
            QueriesAnswer: [
                self.searches
                if isinstance(self.searches, ModelError)
                else {"searches": list(self.searches)}
            ],
        }
        answers = of_kind[kind]
        place = min(self.asked.count(kind.__name__), len(answers)) - 1
        said = answers[place]
        value = said(prompt) if callable(said) else said
        if isinstance(value, ModelError):
            raise value
        return ModelAnswer(kind.model_validate(value), (report(input_tokens=self.input_tokens),))


def sugar_world(*queries: str, pages: int = 3) -> World:
    """A web in which each query finds pages of its own that deny the claim."""
    world = World()
    for query in queries:
        hits = []
        for rank in range(1, pages + 1):
            domain = f"{'-'.join(re.findall('[a-z0-9]+', query.lower()))}{rank}.example"
            url = f"https://{domain}/"
            hits.append(Hit(rank, domain, url))
            world.texts[url] = f"{own_words(domain)}. {DENIAL}. {own_words(domain)}."
            world.listed[domain] = "high"
        world.results[f"{query} 2012"] = world.results[query] = [hits]
    return world


async def investigate(
    model: Investigator,
    world: World,
    media: Sequence[MediaFinding] = (),
    plans: int = agentic.MOST_PLANS,
    claim: Claim = CLAIM,
    **options: Any,
) -> tuple[FlowResult, list[Step]]:
    services = replace(world.services(), reasoner=one_for_all(LlmReasoner(staged(model))))
    config = config_of({"strategy": "agentic", **options})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(agentic, "MOST_PLANS", plans)
        result = await check_claims(
            LATER,
            [claim],
            services,
            config,
            strategy=strategy_named("agentic"),
            known=VideoRows(media=media),
        )
    rows = replace(result, videos=[LATER], claims=[claim])
    assets = ("queries", "search_hits", "evidence", "verdicts")
    broken = [each for each in judge(assets, rows) if each.refuses]
    assert broken == []
    return result, list(result.steps)


async def test_a_settled_label_ends_it_and_every_key_point_cites_evidence_that_exists() -> None:
    model = Investigator([plan("sugar trials", "sugar registry")])
    result, steps = await investigate(model, sugar_world("sugar trials", "sugar registry"))
    (verdict,) = result.verdicts
    assert (verdict.stance, verdict.confidence, verdict.confidence_score) == ("refutes", "high", 1)
    assert (verdict.strategy, verdict.reason, verdict.vote_stance) == ("agentic", None, "refutes")
    assert verdict.summary.startswith("The sources, weighed by their reliability, refute the claim")
    assert verdict.summary.endswith("The trials refute the claim.")
    # The first batch of three settles it, without a search for the second item.
    assert [step.step for step in steps] == [
        *("plan", "retrieve", "summarise", "reason", "reason", "judge", "judge")
    ]
    assert [query.text for query in result.queries] == ["sugar trials 2012"]
    read = {row.evidence_id for row in result.evidence}
    (point,) = [step for step in steps if step.technique == "key point"]
    assert point.used
    assert set(point.used) <= read
    assert sum(step.calls for step in steps) == len(model.asked) == len(result.llm_calls)
    assert all(step.tokens == 120 * step.calls for step in steps)


async def test_statements_to_be_verified_are_searched_first_in_their_own_words() -> None:
    statements = ["Sugar made children hyperactive in 2012.", "Most children eat sugar."]
    model = Investigator([plan("sugar trials", statements=statements)], [thinks("false", 3)])
    world = sugar_world(*statements, "sugar trials", pages=1)
    result, steps = await investigate(model, world, plans=1)
    searched = [(step.technique, step.asked) for step in steps if step.step == "retrieve"]
    assert searched == [
        ("validation list", statements[0]),
        ("validation list", statements[1]),
        ("search list", "sugar trials"),
    ]
    asked = sorted(result.queries, key=lambda query: query.rank)
    assert [(query.rank, query.text, query.query_type) for query in asked] == [
        (1, statements[0], "direct"),
        (2, f"{statements[1]} 2012", "direct"),
        (3, "sugar trials 2012", "context"),
    ]
    sought = [take_apart(each).data("looked for") for each in model.prompts if "Looked for" in each]
    assert sought == [*statements, "What of sugar trials?"]
    # One batch of three, from both lists.
    assert result.verdicts[0].stance == "refutes"
    assert len(result.evidence) == 3


async def test_a_statement_that_settles_it_leaves_the_search_list_unasked() -> None:
    statement = "Sugar made children hyperactive in 2012."
    model = Investigator([plan("sugar trials", statements=[statement])])
    result, _ = await investigate(model, sugar_world(statement, "sugar trials"))
    assert [query.text for query in result.queries] == [statement]
    assert result.verdicts[0].stance == "refutes"


async def test_a_plan_asks_three_statements_at_most_and_nothing_twice() -> None:
    statements = ["", "Sugar trials.", "**Most** children eat sugar.", "Sugar has no use.", "Four."]
    model = Investigator(
        [plan("sugar trials", "sugar use has no", statements=statements)], [thinks("false", 3)]
    )
    result, steps = await investigate(model, sugar_world("sugar trials", pages=1), plans=2)
    assert [step.asked for step in steps if step.step == "retrieve"] == [
        "Sugar trials.",
        "Most children eat sugar.",
        "Sugar has no use.",
    ]
    assert result.verdicts[0].reason == ("The revised plan has no new query.")


async def test_pages_are_condensed_for_the_item_and_classed_by_rating() -> None:
    world = sugar_world("sugar trials")
    world.listed["sugar-trials2.example"] = "very_low"
    del world.listed["sugar-trials3.example"]
    world.dates["https://sugar-trials1.example/"] = date(2023, 1, 1)
    model = Investigator([plan("sugar trials")])
    await investigate(model, world, minimum_rating="very_low")
    condensing = next(prompt for prompt in model.prompts if "Looked for" in prompt)
    assert take_apart(condensing).data("looked for") == "What of sugar trials?"
    batch = next(prompt for prompt in model.prompts if "have just come in" in prompt)
    assert DENIAL in take_apart(batch).data("sources")
    assert DENIAL not in take_apart(batch).outside
    known = re.findall(r"^Evidence \d: (\w+) \(rated (\w+), .*$", batch, re.MULTILINE)
    assert known == [("reliable", "high"), ("unsure", "unknown"), ("unreliable", "very_low")]
    assert batch.count("later than the claim") == 1


async def test_an_unsettled_label_gets_a_new_plan_with_the_reason() -> None:
    model = Investigator(
        [plan("sugar trials"), plan("sugar registry")],
        [thinks("unproven", 2), thinks("false", 4), thinks("false", 5)],
    )
    result, steps = await investigate(model, sugar_world("sugar trials", "sugar registry"))
    assert [step.round for step in steps if step.step == "plan"] == [1, 2]
    revised = take_apart(next(prompt for prompt in model.prompts if "Plan anew" in prompt))
    assert "They found none." in revised.data("what came of it")
    assert "sugar trials" in revised.data("searches")
    assert result.verdicts[0].stance == "refutes"
    assert result.verdicts[0].reason is None


async def test_a_plan_without_a_new_query_ends_the_investigation() -> None:
    model = Investigator([plan("sugar trials", "sugar trials")], [thinks("unproven", 2)])
    model.explanations = [explains("unproven", 2)]
    result, _ = await investigate(model, sugar_world("sugar trials"), plans=10)
    (verdict,) = result.verdicts
    assert model.asked.count("PlanAnswer") == 2
    assert (verdict.status, verdict.stance) == ("complete", "unclear")
    assert verdict.reason == "The revised plan has no new query."
    assert verdict.disagreement  # The vote over the same sources says that it is not so.
    assert len(result.queries) == 1


async def test_twelve_reasoning_steps_are_the_most() -> None:
    queries = [f"sugar study number {number}" for number in range(9)]
    model = Investigator([plan(*queries[at : at + 3]) for at in (0, 3, 6)], [thinks("false", 3)])
    result, steps = await investigate(model, sugar_world(*queries), plans=10)
    assert model.asked.count("ReasoningAnswer") == 12
    assert result.verdicts[0].reason == "It was not settled after 12 reasoning steps."
    assert (steps[-1].technique, steps[-1].status) == ("end", "skipped")


async def test_a_spent_budget_ends_it_with_the_reasoning_so_far() -> None:
    model = Investigator([plan("sugar trials")], [thinks("false", 3)])
    result, _ = await investigate(model, sugar_world("sugar trials"), max_calls=6)
    (verdict,) = result.verdicts
    assert len(model.asked) == 6
    assert (verdict.status, verdict.stance, verdict.confidence) == ("complete", "refutes", "medium")
    assert "used up its 6 model calls (max_calls)" in str(verdict.reason)
    assert len(result.evidence) == 3
    for limit in ({"max_calls": 1}, {"max_cost_usd": 0.0005}, {"max_seconds": 0.000_001}):
        again, _ = await investigate(
            Investigator(model.plans, input_tokens=600), sugar_world("sugar trials"), **limit
        )
        assert next(iter(limit)) in str(again.verdicts[0].reason)


async def test_citations_of_nothing_bear_no_label() -> None:
    model = Investigator([plan("sugar trials")])
    model.explanations = [explains("true", 5, 77, 78)]
    result, steps = await investigate(model, sugar_world("sugar trials"))
    assert (result.verdicts[0].stance, result.verdicts[0].confidence) == ("unclear", "low")
    assert "Trials found no effect" not in result.verdicts[0].summary
    (told,) = [step for step in steps if step.technique == "explanation"]
    assert told.reason == "Citations of evidence that does not exist were dropped: 2."
    assert told.made == ()


async def test_a_label_of_the_least_confidence_does_not_count() -> None:
    model = Investigator([plan("sugar trials")], [thinks("false", 1)], [explains("false", 1)])
    result, _ = await investigate(model, sugar_world("sugar trials"), plans=1)
    assert result.verdicts[0].reasoner_stance == "unclear"


async def test_a_label_against_all_sources_that_it_cites_does_not_count() -> None:
    model = Investigator([plan("sugar trials")], [thinks("true", 5)], [explains("true", 5)])
    result, steps = await investigate(model, sugar_world("sugar trials"), plans=1)
    (verdict,) = result.verdicts
    assert (verdict.stance, verdict.vote_stance) == ("unclear", "refutes")
    (told,) = [step for step in steps if step.technique == "explanation"]
    assert told.reason == "The label does not count: the sources that it cites say the contrary."


async def test_reasoning_that_needs_only_what_does_not_exist_leaves_the_vote_alone() -> None:
    model = Investigator([plan("sugar trials")], [thinks("true", 5, useful=[99])])
    result, _ = await investigate(model, sugar_world("sugar trials"), plans=2)
    (verdict,) = result.verdicts
    assert "ExplanationAnswer" not in model.asked
    assert (verdict.stance, verdict.reasoner_stance) == ("refutes", None)
    assert verdict.reason


async def test_without_a_plan_the_claims_own_words_are_searched() -> None:
    for first in (RefusedError("I would rather not.", ()), plan()):
        world = sugar_world(CLAIM.text)
        result, _ = await investigate(Investigator([first]), world)
        assert [query.text for query in result.queries] == [CLAIM.text]
        assert result.verdicts[0].stance == "refutes"


async def test_an_outage_before_the_label_is_settled_leaves_it_incomplete() -> None:
    down = ModelOutageError("The model is overloaded.", ())
    lost, steps = await investigate(
        Investigator([plan("sugar trials")], [down]), sugar_world("sugar trials")
    )
    assert (lost.verdicts[0].status, lost.verdicts[0].recheck_due) == ("incomplete", True)
    assert "interrupted (The model is overloaded)" in str(lost.verdicts[0].reason)
    assert (steps[-1].step, steps[-1].status) == ("reason", "infra_error")
    assert len(lost.evidence) == 3
    unplanned, _ = await investigate(Investigator([down]), sugar_world("sugar trials"))
    assert unplanned.verdicts[0].status == "incomplete"
    unworded, _ = await investigate(
        Investigator([plan("sugar trials")], explanations=[down]), sugar_world("sugar trials")
    )
    (verdict,) = unworded.verdicts
    assert (verdict.status, verdict.stance, verdict.recheck_due) == ("complete", "refutes", True)


async def test_an_outage_after_the_vote_denied_the_label_leaves_it_incomplete_with_escalate() -> (
    None
):
    down = ModelOutageError("The model is overloaded.", ())
    model = Investigator(
        [plan("sugar trials"), plan("sugar registry")], [thinks("true", 5), thinks("true", 5), down]
    )
    world = sugar_world("sugar trials", "sugar registry")
    world.texts["https://sugar-trials1.example/"] = f"{own_words('a')}. {ASSERTION}."
    result, steps = await investigate(model, world, escalate=True)
    assert (steps[-1].round, steps[-1].status) == (2, "infra_error")
    (verdict,) = result.verdicts
    assert (verdict.status, verdict.recheck_due) == ("incomplete", True)


async def test_a_label_that_the_vote_denies_gets_one_more_plan_with_escalate() -> None:
    def model() -> Investigator:
        return Investigator(
            [plan("sugar trials"), plan("sugar registry")],
            [thinks("true", 5)],
            [explains("true", 5)],
        )

    world = sugar_world("sugar trials", "sugar registry")
    world.texts["https://sugar-trials1.example/"] = f"{own_words('a')}. {ASSERTION}."
    flagged, once = await investigate(model(), world)
    assert (flagged.verdicts[0].stance, flagged.verdicts[0].disagreement) == ("supports", True)
    _, twice = await investigate(model(), world, escalate=True)
    assert max(step.round for step in once) == 1
    assert max(step.round for step in twice) == 2


# --- Findings on pictures -----------------------------------------------------------------------

MATCH = MediaFinding(
    finding_id="m1",
    video_id=VIDEO.video_id,
    picture="thumbnail",
    kind="match",
    rank=1,
    provider="google",
    match_class="exact",
    url="https://checks.example/party",
    title="FALSE: Photo shows a birthday party after sugar",
    published_on=date(2011, 5, 1),
    status="ok",
)
UNREAD = MATCH.model_copy(update={"finding_id": "m2", "status": "skipped", "reason": "No key."})


async def test_findings_on_pictures_take_part_with_their_ids_if_the_claim_rests_on_a_picture() -> (
    None
):
    model = Investigator([plan("sugar trials", on_picture=True)])
    result, steps = await investigate(model, sugar_world("sugar trials"), media=[MATCH, UNREAD])
    assert result.verdicts[0].stance == "refutes"
    (taken,) = [step for step in steps if step.technique == "findings on pictures"]
    assert taken.made == ("m1",)
    (point,) = [step for step in steps if step.technique == "key point"]
    assert "m1" in point.used
    assert {row.evidence_id for row in result.evidence} & {*point.used}
    # It joins the accumulated reasoning, not the batch of new sources.
    shown, *_ = [each for each in model.prompts if "Evidence 1: picture" in each]
    assert "This is all that was kept so far" in shown
    assert "match, exact, on a page of 2011-05-01" in shown
    # The title of a fact-check would tell the label.
    assert "birthday party after sugar" not in shown


async def test_a_picture_that_only_illustrates_the_claim_is_not_shown() -> None:
    model = Investigator([plan("sugar trials")])
    await investigate(model, sugar_world("sugar trials"), media=[MATCH])
    assert not any("picture (thumbnail)" in each for each in model.prompts)


async def test_no_label_rests_on_pictures_alone() -> None:
    model = Investigator(
        [plan("sugar trials", on_picture=True)], explanations=[explains("false", 5, 1)]
    )
    result, steps = await investigate(model, sugar_world("sugar trials"), media=[MATCH], plans=1)
    (verdict,) = result.verdicts
    assert verdict.reasoner_stance == "unclear"
    assert all(step.got.startswith("unproven") for step in steps if step.technique == "explanation")


# --- Other languages ----------------------------------------------------------------------------


async def test_the_plan_for_a_claim_in_another_language_has_an_english_search() -> None:
    claim = make_claim("\u7cd6\u4f1a\u8ba9\u5b69\u5b50\u591a\u52a8")
    model = Investigator(
        [plan("\u7cd6 \u591a\u52a8")], searches=["\u7cd6", "\u591a\u52a8", "sugar trials"]
    )
    result, _ = await investigate(model, sugar_world("sugar trials"), claim=claim)
    assert [query.text for query in result.queries] == ["\u7cd6 \u591a\u52a8", "sugar trials"]
    assert {row.status for row in result.evidence} == {"ok"}
    assert result.verdicts[0].reasoner_stance == "refutes"
    down = Investigator([plan("\u7cd6 \u591a\u52a8")], searches=ModelOutageError("Overloaded.", ()))
    result, _ = await investigate(down, sugar_world("\u7cd6 \u591a\u52a8"), claim=claim, plans=1)
    assert [query.status for query in result.queries] == ["infra_error", "ok"]
