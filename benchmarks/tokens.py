"""What a video costs in input tokens, and whether short excerpts keep what decides.

Run: `python -m benchmarks.tokens`. It replays the published runs of five claims, two queries and
three results (the videos, claims, page texts and readings that they recorded) through the prompts
of the language-model reasoner and counts every prompt, system text and schema included, by the
vocabulary o200k. Prints:

- input tokens per stage and video, beside the earlier system's own prompts of the same runs; and
  the same with thirty sources per video, and with pages of 2,650 words;
- quote retention: how many of the quotes that the recorded model took from whole pages still stand
  in the excerpt, by the excerpt's limit;
- how many of its quotes for a side are believed to speak of their claim, and of a claim of another
  video, which no quote should.

No model is asked: a stand-in answers in the shape that is asked for, with what was recorded.
"""

from __future__ import annotations

import ast
import asyncio
import json
import re
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import bpe_openai

from benchmarks.shared import AnnotatedVideo, load_annotated_videos, require
from factible_assets.reasoners.llm.engine import LlmReasoner
from factible_assets.reasoners.llm.evidence import bearing_on, excerpt
from factible_assets.records import Claim, Evidence, Query, Stance
from factible_assets.stages.evidence import QuoteFinder
from factible_assets.stages.ids import claim_id
from factible_assets.stages.ports import Arrivals, PageExcerpt, Vote
from resources.llm.base import Answer, ModelAnswer, ModelCall, ModelRequest
from tests.reasoners.llm.scripted import staged

LIMITS = (1_500, 2_000, 2_500, 2_750, 3_000, 3_500)
SOURCES = 6
LONG_PAGE = 2_650
STAGES = ("claims", "queries", "evidence", "verdicts")
_COMPONENTS = {
    "claim_extraction": "claims",
    "query_generation": "queries",
    "evidence_extraction": "evidence",
    "verdict_generation": "verdicts",
}
_PROMPT = re.compile(
    r"Claim:\n(?P<claim>.*?)\n\nArticle Title:\n(?P<title>.*?)\n\n"
    r"Google Search Snippet:\n(?P<snippet>.*?)\n\nFull Page Content:\n(?P<text>.*)",
    re.DOTALL,
)
_VOTE = Vote("unclear", 0.0, "low", 0.0)
_ENCODING = bpe_openai.get_encoding("o200k_base")


def tokens(text: str) -> int:
    """Count the tokens of a text."""
    return len(_ENCODING.encode(text))


@dataclass(frozen=True, slots=True)
class Reading:
    """What the recorded model was given of one source, and what it answered."""

    claim: str
    page: PageExcerpt
    stance: Stance
    summary: str
    quote: str


@dataclass
class Recorded:
    """One published run: its readings, and the tokens of its own prompts by stage."""

    readings: list[Reading] = field(default_factory=list)
    own: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STAGES, 0))


def recorded_runs() -> dict[str, Recorded]:
    """Read the model calls of the published runs, by video."""
    runs: dict[str, Recorded] = {}
    for path in sorted(require("factible", "runs").glob("max_claims_5/*/llm_calls.json")):
        run = runs.setdefault(path.parent.name.split("_", 2)[2], Recorded())
        for call in json.loads(path.read_text(encoding="utf-8")):
            run.own[_COMPONENTS[call["component"]]] += tokens(call["input_prompt"])
            prompt = _PROMPT.search(call["input_prompt"])
            if call["component"] == "evidence_extraction" and prompt is not None:
                run.readings.append(_reading(prompt, call["output"], len(run.readings)))
    return runs


def _reading(prompt: re.Match[str], output: Any, number: int) -> Reading:
    answer = output if isinstance(output, dict) else ast.literal_eval(output)
    page = PageExcerpt(
        f"https://source-{number}.example/", prompt["title"], prompt["snippet"], prompt["text"]
    )
    stance = answer.get("overall_stance")
    return Reading(
        prompt["claim"],
        page,
        stance if stance in {"supports", "refutes", "mixed"} else "unclear",
        answer.get("summary") or "",
        answer.get("key_quote") or "",
    )


# --- Tokens -------------------------------------------------------------------------------------


@dataclass
class CountingModel:
    """Counts what it is asked and answers in shape."""

    asked: list[tuple[str, int]] = field(default_factory=list)
    answers: dict[str, Reading] = field(default_factory=dict)
    provider = "counting"
    model = "counting"
    identity = "counting"

    async def complete(self, question: ModelRequest[Answer]) -> ModelAnswer[Answer]:
        """Count a question; answer with what was recorded."""
        prompt = "".join(part.text for part in question.parts)
        schema = json.dumps(question.output_type.model_json_schema(), separators=(",", ":"))
        size = tokens(question.system) + tokens(prompt) + tokens(schema)
        shape = question.output_type.__name__
        self.asked.append((shape, size))
        call = ModelCall(
            provider=self.provider,
            model=self.model,
            attempt=1,
            input_tokens=size,
            output_tokens=0,
            cost_usd=0.0,
            latency_seconds=0.0,
            outcome="ok",
        )
        return ModelAnswer(question.output_type.model_validate(_answer(shape, prompt)), (call,))


def _answer(shape: str, prompt: str) -> dict[str, Any]:
    if shape == "ClaimsAnswer":
        return {"thesis": "", "thesis_is_about_expertise": False, "claims": []}
    if shape == "QueriesAnswer":
        numbers = re.findall(r"^Claim (\d+):", prompt, re.MULTILINE)
        query = {"text": "a", "query_type": "direct", "seeks_opposite": True, "priority": 1}
        return {"queries": [{"claim": int(number), **query} for number in numbers]}
    if shape == "EvidenceAnswer":
        scores = {"stance_confidence": 0.0, "relevance": 0.0, "stance": "unclear"}
        words = {"addresses_claim": False, "scope": "", "summary": "", "quotes": []}
        numbers = re.findall(r"^Source (\d+),", prompt, re.MULTILINE)
        return {"readings": [{"source": int(number), **words, **scores} for number in numbers]}
    return {"summary": "Nothing.", "stance": "unclear", "confidence": "low"}


async def tokens_of(video: AnnotatedVideo, readings: Sequence[Reading]) -> dict[str, int]:
    """Ask all questions of one video; return the input tokens by stage."""
    model = CountingModel()
    mind = LlmReasoner(staged(model))
    by_claim: dict[str, list[Reading]] = defaultdict(list)
    for reading in readings:
        by_claim[reading.claim].append(reading)
    claims = {
        text: _claim(video.video.video_id, text, rank)
        for rank, text in enumerate(by_claim, start=1)
    }
    spent: dict[str, int] = {}
    await mind.extract_claims(video.video, video.transcript, (), max_claims=5)
    spent["claims"] = _taken(model)
    asked = [mind.write_queries(video.video, claim, max_queries=2) for claim in claims.values()]
    await asyncio.gather(*asked)
    spent["queries"] = _taken(model)
    for text, found in by_claim.items():
        arrivals = Arrivals(0)
        query = Query(
            query_id="q", claim_id="c", video_id=video.video.video_id, rank=1, text="q",
            query_type="direct", priority=1, basis="llm",
        )  # fmt: skip
        pages = [_with(arrivals, reading.page) for reading in found]
        await asyncio.gather(
            *(mind.read_evidence(video.video, claims[text], query, page) for page in pages)
        )
    spent["evidence"] = _taken(model)
    for text, found in by_claim.items():
        read = [_evidence(claims[text], each) for each in found]
        await mind.judge(video.video, claims[text], read, _VOTE)
    spent["verdicts"] = _taken(model)
    return spent


def _with(arrivals: Arrivals, page: PageExcerpt) -> PageExcerpt:
    return PageExcerpt(
        page.canonical_url, page.title, page.snippet, page.text, page.published_on, arrivals
    )


def _taken(model: CountingModel) -> int:
    total = sum(size for _, size in model.asked)
    model.asked.clear()
    return total


def _claim(video_id: str, text: str, rank: int) -> Claim:
    return Claim(
        claim_id=claim_id(video_id, text), video_id=video_id, rank=rank, text=text,
        importance=0.8, extraction_confidence=0.9, context="As the video says of it.", basis="llm",
    )  # fmt: skip


def _evidence(claim: Claim, reading: Reading) -> Evidence:
    stands = QuoteFinder(reading.page.text).find(reading.quote) if reading.quote else None
    place = stands or (None, None)
    url = reading.page.canonical_url
    return Evidence(
        evidence_id=url, claim_id=claim.claim_id, video_id=claim.video_id, hit_id=url,
        query_id="q", canonical_url=url, domain=url.split("/")[2], title=reading.page.title,
        status="ok", stance=reading.stance, stance_confidence=0.8, relevance=0.8,
        summary=reading.summary, quote=reading.page.text[slice(*stands)] if stands else None,
        quote_start=place[0], quote_end=place[1], rating="medium", rating_score=0.7,
        source_class="news", origin=url, basis="llm",
    )  # fmt: skip


def thirty(readings: Sequence[Reading], words: int | None = None) -> list[Reading]:
    """Fill up to five claims with six sources each from the video's own pages.

    With `words` every page is made that long, by the texts of the others after its own.
    """
    claims = list(dict.fromkeys(reading.claim for reading in readings))[:5]
    texts = list(dict.fromkeys(reading.page.text for reading in readings))
    made = []
    for at, claim in enumerate(claims):
        own = [reading for reading in readings if reading.claim == claim]
        for number in range(SOURCES):
            base = own[number] if number < len(own) else readings[(at * 7 + number) % len(readings)]
            text = base.page.text
            if words is not None:
                text = " \n".join([text, *(each for each in texts if each != text)])
                text = "".join(re.findall(r"\S+\s*", text)[:words])
            url = f"https://source-{at}-{number}.example/"
            page = PageExcerpt(url, base.page.title, base.page.snippet, text)
            made.append(Reading(claim, page, base.stance, base.summary, base.quote))
    return made


# --- Quotes -------------------------------------------------------------------------------------


def quoted(runs: dict[str, Recorded]) -> list[Reading]:
    """Return the readings whose quote stands in the page that the model was given."""
    return [
        reading
        for run in runs.values()
        for reading in run.readings
        if reading.quote and QuoteFinder(reading.page.text).find(reading.quote)
    ]


def retention(readings: Sequence[Reading], limit: int) -> tuple[float, float]:
    """Return the share of quotes that stay in the excerpt, and its mean tokens."""
    kept, sizes = 0, []
    for reading in readings:
        shown = (
            excerpt(reading.claim, reading.page.text, limit=limit, snippet=reading.page.snippet)
            or ""
        )
        kept += QuoteFinder(shown).find(reading.quote) is not None
        sizes.append(tokens(shown))
    return kept / len(readings), statistics.mean(sizes)


def borne(runs: dict[str, Recorded]) -> tuple[int, float, float]:
    """Return how many quotes stand for a side, and which share is believed to speak of its claim.

    The third is the share that is believed to speak of a claim of another video.
    """
    own, other = [], []
    claims = {name: [each.claim for each in run.readings] for name, run in runs.items()}
    for name, run in runs.items():
        elsewhere = [claim for video, listed in claims.items() if video != name for claim in listed]
        for number, each in enumerate(quoted({name: run})):
            if each.stance != "unclear":
                foreign = elsewhere[number * 37 % len(elsewhere)]
                own.append(bool(bearing_on(each.claim, [each.quote], each.page.text, "en")))
                other.append(bool(bearing_on(foreign, [each.quote], each.page.text, "en")))
    return len(own), statistics.mean(own), statistics.mean(other)


def _rows(
    runs: dict[str, Recorded], videos: dict[str, AnnotatedVideo]
) -> Iterator[tuple[str, dict[str, float]]]:
    known = [(videos[name], run) for name, run in runs.items() if name in videos and run.readings]
    yield "earlier system", _means([run.own for _, run in known])
    for label, readings in (
        ("as recorded", lambda run: run.readings),
        ("6 sources a claim", lambda run: thirty(run.readings)),
        ("… of 2,650 words", lambda run: thirty(run.readings, LONG_PAGE)),
    ):
        spent = [asyncio.run(tokens_of(video, readings(run))) for video, run in known]
        yield label, _means(spent)


def _means(spent: Sequence[dict[str, int]]) -> dict[str, float]:
    return {stage: statistics.mean(each[stage] for each in spent) for stage in STAGES}


def main() -> None:
    """Print all."""
    runs = recorded_runs()
    videos = {each.video.video_id: each for each in load_annotated_videos()}
    out = sys.stdout.write
    out("Input tokens per video\n\n")
    out(f"{'':20}" + "".join(f"{stage:>10}" for stage in (*STAGES, "all")) + "\n")
    for label, spent in _rows(runs, videos):
        figures = [*spent.values(), sum(spent.values())]
        out(f"{label:20}" + "".join(f"{figure:10,.0f}" for figure in figures) + "\n")
    readings = quoted(runs)
    out(f"\nQuotes kept in the excerpt, n = {len(readings)}\n\n")
    for limit in LIMITS:
        share, size = retention(readings, limit)
        out(f"{limit:6,} characters: {share:.1%}, {size:.0f} tokens a page\n")
    count, own, other = borne(runs)
    out(f"\nQuotes for a side, n = {count}: {own:.1%} are believed to speak of their claim, ")
    out(f"{other:.1%} of a claim of another video\n")


if __name__ == "__main__":
    main()
