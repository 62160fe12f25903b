"""Counts the input tokens of a video, and tests whether excerpts keep the decisive sentences.

Run: `python -m benchmarks.tokens` (a minute). It sends the videos, claims, pages and readings of
published runs through the prompts of the language-model reasoner and counts every prompt with
system text and schema (vocabulary o200k). It prints

- input tokens per stage and video for the videos with five claims and thirty recorded readings, six
  sources per claim, with the earlier system's own prompts on the same pages and the cached tokens;
- quote retention: the share of the model's quotes from whole pages that an excerpt still contains,
  by the excerpt's limit;
- the share of quotes with a stance that count as relevant for their claim, and for a claim of
  another video, where none should;
- the number of quotes that the reader of quotes finds contrary to their stance.

Providers cache a prompt's prefix from 1,024 tokens on, in steps of 128 (OpenAI, "Prompt caching").
The script assumes that a prefix is cached one second after the request that first sent it. Pages
and answers arrive with the recorded delays, on a virtual clock (replay.py). A stand-in for the
model answers in the requested shape. The length of an excerpt was decided on these readings.
"""

from __future__ import annotations

import ast
import asyncio
import json
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import bpe_openai

from benchmarks.replay import VirtualLoop
from benchmarks.shared import AnnotatedVideo, load_annotated_videos, require
from factible_assets.reasoners.llm.engine import LlmReasoner
from factible_assets.reasoners.llm.shown_page import chosen_sentences, related_quotes
from factible_assets.reasoners.readers.plain import side_of_text
from factible_assets.records.stances import STANCES
from factible_assets.records.tables import Claim, Query, Stance
from factible_assets.stages.ids import claim_id
from factible_assets.stages.ports import Arrivals, PageExcerpt
from factible_assets.stages.quotes import QuoteFinder, whole_sentences
from resources.llm.answers import strict_schema
from resources.llm.base import Answer, ModelAnswer, ModelCall, ModelRequest
from tests.reasoners.llm.scripted import staged

LIMITS = (1_500, 2_000, 2_500, 3_000, 3_500, 4_000)
CLAIMS, SOURCES = 5, 6
CACHED_FROM, CACHED_STEP, READ = 1_024, 128, 1.0
STAGES = ("claims", "evidence", "verdicts")
_COMPONENTS = {
    "claim_extraction": "claims",
    "query_generation": "claims",
    "evidence_extraction": "evidence",
    "verdict_generation": "verdicts",
}
_STAGE_OF = {
    "ClaimsAnswer": "claims", "QueriesAnswer": "claims", "Reading": "evidence",
    "ReadingsAnswer": "evidence", "WordsAnswer": "verdicts",
}  # fmt: skip
_PROMPT = re.compile(
    r"Claim:\n(?P<claim>.*?)\n\nArticle Title:\n(?P<title>.*?)\n\n"
    r"Google Search Snippet:\n(?P<snippet>.*?)\n\nFull Page Content:\n(?P<text>.*)",
    re.DOTALL,
)
_ENCODING = bpe_openai.get_encoding("o200k_base")


def tokens(text: str) -> int:
    """Count the tokens of a text."""
    return len(_ENCODING.encode(text))


@dataclass(frozen=True, slots=True)
class Recorded:
    """One recorded model call about a source: input, tokens and answer."""

    claim: str
    page: PageExcerpt
    stance: Stance
    quote: str
    own_tokens: int


@dataclass
class Run:
    """One published run: its readings, and the tokens of its other prompts by stage."""

    readings: list[Recorded] = field(default_factory=list)
    own: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STAGES, 0))


def recorded_runs() -> dict[str, Run]:
    runs: dict[str, Run] = {}
    for path in sorted(require("factible", "runs").glob("max_claims_5/*/llm_calls.json")):
        run = runs.setdefault(path.parent.name.split("_", 2)[2], Run())
        for call in json.loads(path.read_text(encoding="utf-8")):
            size = tokens(call["input_prompt"])
            prompt = _PROMPT.search(call["input_prompt"])
            if call["component"] != "evidence_extraction":
                run.own[_COMPONENTS[call["component"]]] += size
            elif prompt is not None:
                run.readings.append(_recorded(prompt, call["output"], len(run.readings), size))
    return runs


def _recorded(prompt: re.Match[str], output: Any, number: int, size: int) -> Recorded:
    answer = output if isinstance(output, dict) else ast.literal_eval(output)
    url = f"https://source-{number}.example/"
    page = PageExcerpt(url, prompt["title"], prompt["snippet"], prompt["text"])
    said = answer.get("overall_stance")
    stances: dict[str, Stance] = {each: each for each in STANCES}
    stance = stances.get(str(said), "unclear")
    return Recorded(prompt["claim"], page, stance, answer.get("key_quote") or "", size)


def thirty(readings: Sequence[Recorded]) -> list[Recorded]:
    """Return six readings for each of five claims; claims with fewer borrow from others.

    Empty for a video without five claims and thirty readings.
    """
    claims = list(dict.fromkeys(each.claim for each in readings))[:CLAIMS]
    if len(claims) < CLAIMS or len(readings) < CLAIMS * SOURCES:
        return []
    own = {claim: [each for each in readings if each.claim == claim] for claim in claims}
    spare = [each for held in own.values() for each in held[SOURCES:]]
    made = []
    for claim, held in own.items():
        borrowed = [spare.pop() for _ in range(SOURCES - len(held[:SOURCES]))]
        made += held[:SOURCES]
        made += [Recorded(claim, each.page, "unclear", "", each.own_tokens) for each in borrowed]
    return made


# --- Tokens -------------------------------------------------------------------------------------


@dataclass
class CountingModel:
    """Counts requested and cached tokens by stage, and answers with the recorded delays."""

    seconds: Mapping[str, Sequence[float]]
    asked: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STAGES, 0))
    cached: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STAGES, 0))
    calls: int = 0
    known: dict[str, float] = field(default_factory=dict)
    provider = "counting"
    model = "counting"
    identity = "counting"

    async def complete(self, question: ModelRequest[Answer]) -> ModelAnswer[Answer]:
        """Count a request; answer that the page says nothing."""
        prompt = "".join(part.text for part in question.parts)
        schema = json.dumps(strict_schema(question.output_type), separators=(",", ":"))
        begins = f"{schema}{question.system}"
        prefix = tokens(schema) + tokens(question.system)
        stage = _STAGE_OF[question.output_type.__name__]
        self.calls += 1
        self.asked[stage] += prefix + tokens(prompt)
        now = asyncio.get_running_loop().time()
        is_read = now >= self.known.setdefault(begins, now) + READ
        if is_read and prefix >= CACHED_FROM:
            self.cached[stage] += prefix // CACHED_STEP * CACHED_STEP
        kind = "claim_extraction" if stage == "claims" else "evidence_extraction"
        recorded = self.seconds[kind]
        await asyncio.sleep(recorded[crc32(prompt.encode()) % len(recorded)])
        call = ModelCall(
            provider=self.provider, model=self.model, attempt=1, input_tokens=prefix,
            output_tokens=0, cost_usd=0.0, latency_seconds=0.0, outcome="ok",
        )  # fmt: skip
        answer = _answer(question.output_type.__name__, prompt)
        return ModelAnswer(question.output_type.model_validate(answer), (call,))


def _answer(shape: str, prompt: str) -> dict[str, Any]:
    silent = {"sentences": [], "summary": "", "stance": "silent", "confidence": 0, "relevance": 0}
    if shape == "ClaimsAnswer":
        return {"thesis": "", "thesis_is_about_expertise": False, "claims": []}
    if shape == "ReadingsAnswer":
        numbers = re.findall(r"^Source (\d+),", prompt, re.MULTILINE)
        return {"readings": [{"source": int(number), **silent} for number in numbers]}
    return silent


async def asked_of(
    video: AnnotatedVideo, readings: Sequence[Recorded], model: CountingModel, *, together: bool
) -> None:
    """Send all requests of one video, with pages at their recorded times."""
    llm = LlmReasoner(staged(model))
    await llm.extract_claims(video.video, video.transcript, (), max_claims=CLAIMS)
    claims = list(dict.fromkeys(reading.claim for reading in readings))
    rows = {text: _claim(video.video.video_id, text, at) for at, text in enumerate(claims, 1)}
    query = Query(
        query_id="q", claim_id="c", video_id=video.video.video_id, rank=1, text="q",
        query_type="direct", priority=1, basis="llm",
    )  # fmt: skip
    arrivals = {text: Arrivals(sum(each.claim == text for each in readings)) for text in claims}
    fetches = model.seconds["page_fetch"]

    async def read(place: int, each: Recorded) -> None:
        url = f"https://source-{place}.example/"
        await asyncio.sleep(fetches[crc32(f"{video.video.video_id}{url}".encode()) % len(fetches)])
        arrivals[each.claim].count_one()
        page = PageExcerpt(
            url, each.page.title, each.page.snippet, each.page.text,
            arrivals=arrivals[each.claim], together=together,
        )  # fmt: skip
        await llm.read_evidence(video.video, rows[each.claim], query, page)

    await asyncio.gather(*(read(*each) for each in enumerate(readings)))


def _claim(video_id: str, text: str, rank: int) -> Claim:
    return Claim(
        claim_id=claim_id(video_id, text), video_id=video_id, rank=rank, text=text,
        importance=0.8, extraction_confidence=0.9, context="As the video says of it.", basis="llm",
    )  # fmt: skip


# --- Quotes -------------------------------------------------------------------------------------


def quoted(runs: dict[str, Run]) -> list[Recorded]:
    """Return the readings whose quote is in the page that the model got."""
    return [
        reading
        for run in runs.values()
        for reading in run.readings
        if reading.quote and QuoteFinder(reading.page.text).find(reading.quote)
    ]


def retention(readings: Sequence[Recorded], limit: int) -> tuple[float, float]:
    """Return the share of quotes that are shown whole, and the mean tokens of a page."""
    kept, sizes = 0, []
    for reading in readings:
        text = reading.page.text
        found = chosen_sentences(reading.claim, text, limit=limit, snippet=reading.page.snippet)
        place = QuoteFinder(text).find(reading.quote) or (0, 0)
        inside = [at for at in range(*place) if text[at].isalnum()]
        shown = {at for each in found.values() for at in range(each.start, each.end)}
        # A line that a page repeats is shown once.
        again = any(reading.quote.strip() in each.text for each in found.values())
        kept += again or shown.issuperset(inside)
        sizes.append(tokens("\n".join(f"{number} {each.text}" for number, each in found.items())))
    return kept / len(readings), statistics.mean(sizes)


def borne(runs: dict[str, Run]) -> tuple[int, float, float]:
    """Return the number of quotes with a stance, and the share that is relevant to its claim.

    The third value is the share that counts as relevant to a claim of another video.
    """
    own, other = [], []
    claims = {name: [each.claim for each in run.readings] for name, run in runs.items()}
    for name, run in runs.items():
        elsewhere = [claim for video, listed in claims.items() if video != name for claim in listed]
        for number, each in enumerate(quoted({name: run})):
            if each.stance != "unclear":
                foreign = elsewhere[number * 37 % len(elsewhere)]
                own.append(bool(related_quotes(each.claim, [each.quote], each.page.text, "en")))
                other.append(bool(related_quotes(foreign, [each.quote], each.page.text, "en")))
    return len(own), statistics.mean(own), statistics.mean(other)


def contradicted(readings: Sequence[Recorded]) -> int:
    """Return the number of quotes that contradict their stance."""
    opposite = {"supports": "refutes", "refutes": "supports"}
    count = 0
    for each in readings:
        place = QuoteFinder(each.page.text).find(each.quote) or (0, 0)
        start, end = whole_sentences(each.page.text, *place)
        side = side_of_text(each.claim, each.page.text[start:end], title=each.page.title)
        count += side == opposite.get(each.stance)
    return count


def main() -> None:
    runs = recorded_runs()
    videos = {each.video.video_id: each for each in load_annotated_videos()}
    known = {name: thirty(run.readings) for name, run in runs.items() if name in videos}
    known = {name: readings for name, readings in known.items() if readings}
    pages = statistics.mean(map(len, known.values()))
    print(f"Input tokens per video: {len(known)} videos, {CLAIMS} claims, {pages:g} sources\n")
    columns = (*STAGES, "all", "cached", "paid in full", "calls")
    print(f"{'':22}" + "".join(f"{each:>13}" for each in columns))

    def row(label: str, figures: Sequence[float]) -> None:
        print(f"{label:22}" + "".join(f"{each:13,.0f}" for each in figures))

    owns = [
        runs[name].own | {"evidence": sum(each.own_tokens for each in readings)}
        for name, readings in known.items()
    ]
    means = [statistics.mean(own[stage] for own in owns) for stage in STAGES]
    row("earlier system", [*means, sum(means), 0, sum(means)])
    recorded = json.loads(require("recorded_web", "latencies.json").read_text(encoding="utf-8"))
    for label, together in (("each page alone", False), ("pages together", True)):
        models = []
        for name, readings in known.items():
            model = CountingModel(recorded["operations"])
            with asyncio.Runner(loop_factory=VirtualLoop) as runner:
                runner.run(asked_of(videos[name], readings, model, together=together))
            models.append(model)
        means = [statistics.mean(each.asked[stage] for each in models) for stage in STAGES]
        cached = statistics.mean(sum(each.cached.values()) for each in models)
        calls = statistics.mean(each.calls for each in models)
        row(label, [*means, sum(means), cached, sum(means) - cached, calls])
    readings = quoted(runs)
    print(f"\nQuotes kept in the excerpt, n = {len(readings)}\n")
    for limit in LIMITS:
        share, size = retention(readings, limit)
        print(f"{limit:6,} characters: {share:.1%}, {size:.0f} tokens a page")
    count, own, other = borne(runs)
    print(
        f"\nQuotes for a side, n = {count}: {own:.1%} are believed to speak of their claim, "
        f"{other:.1%} of a claim of another video; {contradicted(readings)} are held to say the "
        "contrary"
    )


if __name__ == "__main__":
    main()
