"""Questions of strategies beyond the four judgements: plans, reasoning, summaries, truth levels.

Each question raises ReasonerOutageError if the model failed. Sources of the methods:

- AgentFact, "Multimodal Fact-Checking: An Agent-based Approach", section IV-B and appendix B
  (Agent-SP, Agent-TR-1, Agent-R, Agent-EG), text alone. Deviations: one call words the plan and the
  queries of its search list, and the model's own knowledge never counts.
- Raw Evidence (Chen et al. 2023, arXiv:2305.11859), sections 3.1, 3.4, 3.5. It samples questions
  until ten are unique; here one answer lists them all.
- "Enhanced Claim Verification System" (2025), section 7.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from factible_assets.reasoners.llm import answers, prompts
from factible_assets.reasoners.llm.conversation import Conversation, Material
from factible_assets.reasoners.llm.plain_text import clip, plain
from factible_assets.reasoners.llm.queries import search_words
from factible_assets.records.scales import names_a_verdict
from factible_assets.records.tables import Evidence, MediaFinding
from factible_assets.stages.evidence import is_later
from factible_assets.stages.ids import normalise_text
from factible_assets.stages.ports import PageExcerpt

LIST_ITEMS = 3
"""Entries of the validation list, and of the search list (AgentFact, appendix B, Agent-SP)."""

_PLAN_STEPS = 5
_KEY_POINTS = 4
_PLAN_TOKENS, _REASONING_TOKENS, _EXPLANATION_TOKENS = 1_000, 1_500, 900
_STEP_WORDS, _SUMMARY_WORDS, _ITEM_WORDS = 60, 110, 40

Shown = Mapping[int, Evidence | MediaFinding]
"""Numbered evidence: sources, and findings on pictures of the video."""
Trust = Literal["reliable", "unreliable", "satire", "unsure", "factcheck"]
"""Classes of sources (AgentFact, appendix B, Agent-TR-2), here by rating and source class."""


def trust(row: Evidence) -> Trust:
    if row.source_class == "satire":
        return "satire"
    if row.source_class == "fact_checker":
        return "factcheck"
    if row.rating == "unknown":
        return "unsure"
    return "reliable" if row.rating in {"high", "medium"} else "unreliable"


@dataclass(frozen=True, slots=True)
class PlanItem:
    """One entry of a plan: the information sought and its search query.

    `is_statement`: the entry is a statement of the claim, to be verified as it is.
    """

    sought: str
    query: str
    is_statement: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan for checking a claim; no item repeats another."""

    steps: tuple[str, ...]
    items: tuple[PlanItem, ...]
    rests_on_picture: bool = False


@dataclass(frozen=True, slots=True)
class Reasoning:
    """The conclusion from evidence. It cites only existing evidence; confidence is 1 to 5.

    `invented` counts citations of evidence that does not exist.
    """

    words: str
    evidence: tuple[int, ...]
    label: answers.TruthLabel
    confidence: int
    points: tuple[tuple[str, tuple[int, ...]], ...] = ()
    invented: int = 0


async def make_plan(
    conversation: Conversation, asked: Sequence[str] = (), failed: str | None = None
) -> Plan:
    """Plan the check of a claim, or revise the plan.

    Each list has at most three entries, without those that repeat an earlier entry or an `asked`
    search. `failed` is the outcome of the previous plan, None for the first plan.
    """
    section, material = "User", dict[str, prompts.Piece | Sequence[prompts.Piece]]()
    if failed is not None:
        section = "Revise"
        material["asked"] = prompts.Data("searches", "\n".join(asked) or "(none)")
        material["failed"] = prompts.Data("what came of it", prompts.cut(failed, 2_000))
    answer = await conversation.ask(
        section, answers.PlanAnswer, material, max_tokens=_PLAN_TOKENS, most=_PLAN_STEPS
    )
    lists = {
        True: [(statement, statement) for statement in answer.validation_list],
        False: [
            (plain(item.information_needed) or item.query, item.query or item.information_needed)
            for item in answer.search_list
        ],
    }
    # The same words in another order bring the same results.
    used = {tuple(sorted(normalise_text(search).split())) for search in asked}
    items = []
    for is_statement, entries in lists.items():
        # Small models give empty entries; they do not count.
        usable = [(sought, text) for sought, query in entries if (text := search_words(query))]
        for sought, query in usable[:LIST_ITEMS]:
            words = tuple(sorted(normalise_text(query).split()))
            if words and words not in used:
                used.add(words)
                items.append(PlanItem(clip(plain(sought), _ITEM_WORDS), query, is_statement))
    steps = (
        clip(f"{plain(step.step)} ({step.technique}): {plain(step.details)}", _STEP_WORDS)
        for step in answer.reasoning_steps[:_PLAN_STEPS]
    )
    return Plan(steps=tuple(steps), items=tuple(items), rests_on_picture=answer.rests_on_picture)


async def reason(
    conversation: Conversation, plan: Plan, evidence: Shown, *, accumulated: bool = False
) -> Reasoning:
    """Reason over numbered evidence by the plan: over new evidence, or all that was kept."""
    section = "Accumulate" if accumulated else "User"
    material = _material(conversation, plan, evidence)
    answer = await conversation.ask(
        section,
        answers.ReasoningAnswer,
        material,
        max_tokens=_REASONING_TOKENS,
        most=max(_PLAN_STEPS, len(evidence)),
    )
    useful, invented = _existing(answer.useful, evidence)
    lines = [f"{plain(step.step)}: {plain(step.analysis)}" for step in answer.steps[:_PLAN_STEPS]]
    words = " ".join([plain(answer.understanding), *(clip(line, _STEP_WORDS) for line in lines)])
    return Reasoning(words, useful, answer.label, answer.confidence, invented=invented)


async def explain(
    conversation: Conversation, plan: Plan, evidence: Shown, so_far: Reasoning
) -> Reasoning:
    """Conclude in key points; drop points that cite no existing evidence.

    Without a key point the label becomes unproven, without words.
    """
    answer = await conversation.ask(
        "Explain",
        answers.ExplanationAnswer,
        {
            **_material(conversation, plan, evidence),
            "verdict": f"`{so_far.label}` with confidence {so_far.confidence}",
            "reasoning": prompts.Data("reasoning", prompts.cut(so_far.words, 2_000)),
        },
        max_tokens=_EXPLANATION_TOKENS,
        most=_KEY_POINTS,
    )
    points, invented = [], 0
    for point in answer.key_points[:_KEY_POINTS]:
        cited, unknown = _existing(point.evidence, evidence)
        invented += unknown
        if cited:
            points.append((clip(plain(point.point), _STEP_WORDS), cited))
    has_grounds = bool(points) or answer.label == "unproven"
    return Reasoning(
        words=clip(plain(answer.reasoning), _SUMMARY_WORDS) if has_grounds else "",
        evidence=tuple(dict.fromkeys(number for _, cited in points for number in cited)),
        label=answer.label if has_grounds else "unproven",
        confidence=answer.confidence if has_grounds else 1,
        points=tuple(points),
        invented=invented,
    )


def _existing(numbers: Iterable[int], evidence: Shown) -> tuple[tuple[int, ...], int]:
    """Return the cited numbers that exist, and how many do not."""
    cited = list(dict.fromkeys(numbers))
    existing = tuple(number for number in cited if number in evidence)
    return existing, len(cited) - len(existing)


def _material(conversation: Conversation, plan: Plan, evidence: Shown) -> Material:
    sources = {at: row for at, row in evidence.items() if isinstance(row, Evidence)}
    findings = {at: row for at, row in evidence.items() if isinstance(row, MediaFinding)}
    steps = "\n".join(f"{number}. {step}" for number, step in enumerate(plan.steps, start=1))

    def facts(number: int, row: Evidence) -> str:
        day = "of unknown date" if row.published_on is None else row.published_on.isoformat()
        later = ", later than the claim" if is_later(row.published_on, conversation.video) else ""
        return (
            f"Evidence {number}: {trust(row)} (rated {row.rating}, {row.source_class}), {day}"
            f"{later}, origin {row.origin or row.domain}, read as {row.stance}"
        )

    def words(row: Evidence) -> tuple[str, str]:
        return prompts.one_line(row.summary), prompts.one_line(row.quote, quoted=True)

    return {
        "plan": ("The plan:\n", prompts.Data("plan", steps or "1. What does the evidence show?")),
        "sources": (
            *(prompts.source_pieces(sources, facts, words, trimmable=True) if sources else ()),
            *(_picture_pieces(findings) if findings else ()),
        ),
    }


def _picture_pieces(findings: Mapping[int, MediaFinding]) -> Iterable[prompts.Piece]:
    """Return our facts about findings on pictures, and in a fence the titles of pages elsewhere.

    A title that names a verdict is left out: it would tell the label (AgentFact, appendix A).
    """
    for at, finding in findings.items():
        facts = [f"Evidence {at}: picture ({finding.picture}), {finding.kind}"]
        facts += [finding.match_class] if finding.match_class else []
        facts += [f"on a page of {finding.published_on}"] if finding.published_on else []
        facts += [] if finding.score is None else [f"score {finding.score:.2f} of 1"]
        yield f"\n{', '.join(facts)}\n"
        title = "" if names_a_verdict(finding.title or "") else finding.title
        words = " ".join(filter(None, (prompts.one_line(title), finding.reason)))
        yield prompts.Data("finding", words or "(no words)")


# --- Raw evidence, and levels of truth ----------------------------------------------------------

_EXPLANATION_WORDS = 110
_PAGE_WORDS = 80
_QUOTES = 2


async def ask_questions(conversation: Conversation, most: int) -> tuple[str, ...]:
    """Split a claim into at most `most` questions.

    The model sees no title of the video: a small model asks about the title instead.
    """
    answer = await conversation.ask(
        "User", answers.QuestionsAnswer, {"count": str(most)}, most=most
    )
    return tuple(map(plain, answer.questions))


async def summarise(
    conversation: Conversation, page: PageExcerpt, passage: str
) -> answers.SummaryAnswer:
    """Summarise a document for a claim; the quotes of the answer are unchecked."""
    day = f", {page.published_on.isoformat()}" if page.published_on else ""
    document = prompts.Data(
        "document", f"{prompts.title_line(page.title)}\n\n{passage}", trimmable=True
    )
    answer = await conversation.ask(
        "User",
        answers.SummaryAnswer,
        {"document": (f"The document{day}:\n", document)},
        most=_QUOTES,
    )
    return answer.model_copy(update={"summary": clip(plain(answer.summary), _PAGE_WORDS)})


async def judge_veracity(
    conversation: Conversation, rows: Sequence[Evidence], questions: Sequence[str]
) -> answers.VeracityAnswer:
    """Judge a claim on six levels by its summaries, and list the answered questions.

    Questions and sources are numbered from 1. The answer may contain invalid numbers.
    """
    numbered = "\n".join(f"{number}. {text}" for number, text in enumerate(questions, start=1))
    asked = ("The questions:\n", prompts.Data("questions", numbered or "(none)"))
    answer = await conversation.ask(
        "User", answers.VeracityAnswer, {"questions": asked, "sources": _source_pieces(rows)}
    )
    explanation = clip(plain(answer.explanation), _EXPLANATION_WORDS)
    return answer.model_copy(update={"explanation": explanation})


async def judge_three_way(
    conversation: Conversation, rows: Sequence[Evidence]
) -> answers.ThreeWayAnswer:
    answer = await conversation.ask(
        "User", answers.ThreeWayAnswer, {"sources": _source_pieces(rows)}
    )
    reasoning = clip(plain(answer.reasoning), _EXPLANATION_WORDS)
    return answer.model_copy(update={"reasoning": reasoning})


def _source_pieces(rows: Sequence[Evidence]) -> tuple[prompts.Piece, ...]:
    return prompts.source_pieces(
        dict(enumerate(rows, start=1)),
        prompts.source_facts,
        lambda row: (prompts.one_line(row.quote, quoted=True), prompts.one_line(row.summary)),
    )
