"""How well the embedded engine reads pages: relevance, and the stance rules.

Run: `python -m benchmarks.evidence`, with `--tf-idf` for what the engine does without embeddings.
Prints, each with its n and its baseline:

- relevance: area under the ROC curve between pages that a search returned for a claim and pages of
  other videos (all, and of the same category only, which are nearer);
- stance on recorded pages, against the published runs' stances (silver labels of gpt-4o-mini), once
  for the pages whose text is surely theirs and once for the texts that the model was given;
- stance on recorded pages, against the annotated stance of the claim (a second reference: what a
  page says need not be what is so);
- stance on Climate-FEVER (Diggelmann et al., 2020), sentence by sentence;
- stance on AVeriTeC (Schlichtkrull et al., 2023), with the published answers as evidence;
- the demo: each annotated claim of everyday_beliefs.yaml read on every page of the miniature web,
  and the vote over them by the pages' ratings, against the annotation.

A definite answer is `supports` or `refutes`; coverage is the share of pairs that get one, precision
the share of these that are right, once among all pairs and once among pairs whose label is definite
too. Beside it stands the majority baseline of the same pairs.
"""

from __future__ import annotations

import json
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from rapidfuzz import fuzz, process

from benchmarks.shared import DATA, load_annotated_videos
from factible_assets.config import VerdictsConfig
from factible_assets.reasoners.embedded.embedder import (
    Embedder,
    OnnxEmbedder,
    TfidfEmbedder,
)
from factible_assets.reasoners.embedded.evidence import read_page
from factible_assets.reasoners.embedded.passages import select_passages
from factible_assets.reasoners.embedded.reading.stance import StatementsAndTone
from factible_assets.records import Evidence, Rating
from factible_assets.stages.origins import StoryIndex
from factible_assets.stages.ports import EvidenceDraft, PageExcerpt
from factible_assets.stages.verdict import decide, tally
from resources.scraping.extract import decode, extract_html

DEFINITE = ("supports", "refutes")
SAME_CLAIM = 85.0
"""Token-set ratio from which an extracted claim is taken for an annotated one."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A claim, a page, and what a reference says of the two."""

    claim: str
    page: PageExcerpt
    label: str


def _say(text: str = "") -> None:
    sys.stdout.write(f"{text}\n")


def _lines(path: Path) -> Iterator[Any]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def _excerpt(title: str, text: str, snippet: str = "", url: str = "") -> PageExcerpt:
    return PageExcerpt(url, title, snippet, text, None)


# --- Recorded pages -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RecordedPage:
    """A page whose text surely belongs to its URL, and the videos for which it was found."""

    url: str
    text: str
    videos: frozenset[str]


def recorded_pages() -> dict[str, RecordedPage]:
    """Read the recorded pages by URL; those whose URL was lost are left out."""
    pages: dict[str, RecordedPage] = {}
    for row in _lines(DATA / "recorded_web" / "pages.jsonl"):
        if isinstance(row["url"], str) and row["url"].startswith("http"):
            pages.setdefault(
                row["url"], RecordedPage(row["url"], row["text"], frozenset(row["videos"]))
            )
    return pages


@dataclass(frozen=True, slots=True)
class PublishedReading:
    """What a published run said of a claim and a URL."""

    video_id: str
    claim: str
    url: str
    title: str
    snippet: str
    stance: str
    failed: bool


def published_readings() -> list[PublishedReading]:
    """Read every (claim, source) of the published runs; failed calls are marked.

    A failed call left the snippet as its summary and the stance "unclear".
    """
    found: list[PublishedReading] = []
    for path in sorted((DATA / "factible" / "runs").glob("*/*/outputs.json")):
        output = json.loads(path.read_text(encoding="utf-8")).get("final_output")
        if not output:
            continue
        video_id = output["transcript_data"]["video_id"]
        for report in output["claim_reports"]:
            for stance, sources in report["evidence_by_stance"].items():
                found.extend(_reading(video_id, report["claim_text"], stance, s) for s in sources)
    return found


def _reading(video_id: str, claim: str, stance: str, source: Any) -> PublishedReading:
    snippet = source.get("snippet") or ""  # some rows have none, nor a summary
    return PublishedReading(
        video_id,
        claim,
        source["url"],
        source.get("title") or "",
        snippet,
        stance,
        failed=(source.get("evidence_summary") or "").strip() == snippet.strip(),
    )


def silver_pairs(
    readings: Sequence[PublishedReading], pages: dict[str, RecordedPage]
) -> list[Pair]:
    """Pair claims with pages whose text is known, labelled by the published runs' majority."""
    votes: dict[tuple[str, str], Counter[str]] = {}
    example: dict[tuple[str, str], PublishedReading] = {}
    for reading in readings:
        if reading.url in pages and not reading.failed:
            key = (reading.claim, reading.url)
            votes.setdefault(key, Counter())[reading.stance] += 1
            example.setdefault(key, reading)
    return [
        Pair(
            claim,
            _excerpt(example[claim, url].title, pages[url].text, example[claim, url].snippet, url),
            min(counts, key=lambda stance: (-counts[stance], stance)),
        )
        for (claim, url), counts in votes.items()
    ]


def annotated_pairs(
    readings: Sequence[PublishedReading], pages: dict[str, RecordedPage]
) -> list[Pair]:
    """The same pages, labelled by the annotated stance of the nearest annotated claim."""
    gold = _annotated_stances()
    pairs: dict[tuple[str, str], Pair] = {}
    for reading in readings:
        if reading.url not in pages or reading.video_id not in gold:
            continue
        stances = gold[reading.video_id]
        nearest = process.extractOne(
            reading.claim, list(stances), scorer=fuzz.token_set_ratio, score_cutoff=SAME_CLAIM
        )
        if nearest is not None:
            page = _excerpt(reading.title, pages[reading.url].text, reading.snippet, reading.url)
            key = (reading.claim, reading.url)
            pairs.setdefault(key, Pair(reading.claim, page, stances[nearest[0]]))
    return list(pairs.values())


def _annotated_stances() -> dict[str, dict[str, str]]:
    stances: dict[str, dict[str, str]] = {}
    for path in sorted((DATA / "factible" / "ground_truth").glob("*.yaml")):
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        stances[document["video_id"]] = {
            claim["claim_text"]: claim["verdict"]["overall_stance"].lower()
            for claim in document["claims"]
            if claim.get("verdict")
        }
    return stances


_PROMPT = re.compile(
    r"Claim:\n(?P<claim>.*?)\n\nArticle Title:\n(?P<title>.*?)\n\n"
    r"Google Search Snippet:\n(?P<snippet>.*?)\n\nFull Page Content:\n(?P<text>.*)",
    re.DOTALL,
)


def given_pairs() -> list[Pair]:
    """Pair claims with the texts that the published model was given, and what it answered."""
    pairs = []
    for path in sorted((DATA / "factible" / "runs").glob("*/*/llm_calls.json")):
        for call in json.loads(path.read_text(encoding="utf-8")):
            prompt = _PROMPT.search(call["input_prompt"])
            if call["component"] != "evidence_extraction" or prompt is None:
                continue
            page = _excerpt(prompt["title"], prompt["text"], prompt["snippet"])
            pairs.append(Pair(prompt["claim"], page, call["output"]["overall_stance"]))
    return pairs


# --- Climate-FEVER and AVeriTeC -----------------------------------------------------------------

_CLIMATE = {"SUPPORTS": "supports", "REFUTES": "refutes", "NOT_ENOUGH_INFO": "unclear"}
_AVERITEC = {
    "Supported": "supports",
    "Refuted": "refutes",
    "Not Enough Evidence": "unclear",
    "Conflicting Evidence/Cherrypicking": "mixed",
}


def climate_pairs() -> list[Pair]:
    """Pair each claim with each of its five sentences; the article's name is the title."""
    return [
        Pair(
            row["claim"],
            _excerpt(evidence["article"], evidence["evidence"]),
            _CLIMATE[evidence["evidence_label"]],
        )
        for row in _lines(DATA / "climate_fever" / "dev.jsonl")
        for evidence in row["evidences"]
    ]


def averitec_pairs() -> list[Pair]:
    """Pair each claim with the answers of its annotators, a line each."""
    rows = json.loads((DATA / "averitec" / "dev_even.json").read_text(encoding="utf-8"))
    return [
        Pair(row["claim"], _excerpt("", "\n".join(_answers(row))), _AVERITEC[row["label"]])
        for row in rows
    ]


def _answers(row: Any) -> Iterator[str]:
    for question in row["questions"]:
        for answer in question["answers"]:
            told = answer["answer"] + " " + answer.get("boolean_explanation", "")
            yield f"{question['question'].rstrip('?')}? {told}".replace("\n", " ")


# --- Figures ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StanceFigures:
    """How definite answers compare with labels; see the module's docstring."""

    n: int
    definite: int
    right: int
    definite_both: int
    majority_both: float
    majority_definite: float
    accuracy: float
    macro_f1: float
    majority_accuracy: float
    milliseconds: float
    per_side: dict[str, tuple[int, int]]


def measure(pairs: Sequence[Pair], embedder: Embedder) -> StanceFigures:
    """Read every pair and compare, with the stance model that goes with the embedder."""
    model = StatementsAndTone(embedder)
    began = time.perf_counter()
    drafts = [read_page(pair.claim, pair.page, embedder, model) for pair in pairs]
    milliseconds = 1000 * (time.perf_counter() - began) / max(1, len(pairs))
    answers = [draft.stance if draft is not None else "unclear" for draft in drafts]
    labels = [pair.label for pair in pairs]
    return compare(answers, labels, milliseconds)


def compare(answers: Sequence[str], labels: Sequence[str], milliseconds: float) -> StanceFigures:
    """Compute the figures from answers and labels of the same pairs."""
    told = [(a, b) for a, b in zip(answers, labels, strict=True) if a in DEFINITE]
    both = [(a, b) for a, b in told if b in DEFINITE]
    return StanceFigures(
        n=len(labels),
        definite=len(told),
        right=sum(a == b for a, b in told),
        definite_both=len(both),
        majority_both=_majority([b for _, b in both]),
        majority_definite=_majority([label for label in labels if label in DEFINITE]),
        accuracy=sum(a == b for a, b in zip(answers, labels, strict=True)) / max(1, len(labels)),
        macro_f1=_macro_f1(answers, labels),
        majority_accuracy=_majority(labels),
        milliseconds=milliseconds,
        per_side={
            side: (sum(a == b == side for a, b in told), sum(a == side for a, _ in told))
            for side in DEFINITE
        },
    )


def _majority(labels: Sequence[str]) -> float:
    return max(Counter(labels).values(), default=0) / max(1, len(labels))


def _macro_f1(answers: Sequence[str], labels: Sequence[str]) -> float:
    scores = []
    for label in sorted(set(labels)):
        hits = sum(a == b == label for a, b in zip(answers, labels, strict=True))
        total = answers.count(label) + labels.count(label)
        scores.append(2 * hits / total)
    return sum(scores) / max(1, len(scores))


def area_under_curve(positive: Sequence[float], negative: Sequence[float]) -> float:
    """Return the probability that a positive scores above a negative; ties count half."""
    above = np.asarray(positive)[:, None] - np.asarray(negative)[None, :]
    return float((above > 0).mean() + 0.5 * (above == 0).mean())


def report_stance(name: str, pairs: Sequence[Pair], embedder: Embedder) -> None:
    """Print the stance figures of one set."""
    f = measure(pairs, embedder)
    sides = ", ".join(f"{side} {right}/{told}" for side, (right, told) in f.per_side.items())
    _say(f"\n{name}: n = {f.n}")
    _say(f"  definite answers        {f.definite} (coverage {f.definite / max(1, f.n):.3f})")
    _say(
        f"  precision, all labels   {f.right / max(1, f.definite):.3f} "
        f"({f.right} of {f.definite}; {sides})"
    )
    _say(
        f"  precision, label definite {f.right / max(1, f.definite_both):.3f} "
        f"(n = {f.definite_both}; majority of the same pairs {f.majority_both:.3f}, "
        f"of all definite labels {f.majority_definite:.3f})"
    )
    _say(
        f"  accuracy {f.accuracy:.3f} (majority {f.majority_accuracy:.3f}), "
        f"macro-F1 {f.macro_f1:.3f}; {f.milliseconds:.0f} ms per page"
    )


def report_relevance(
    readings: Sequence[PublishedReading], pages: dict[str, RecordedPage], embedder: Embedder
) -> None:
    """Print how relevance separates a claim's pages from pages of other videos."""
    category = {each.video.video_id: each.video.category for each in load_annotated_videos()}
    generator = random.Random(0)  # noqa: S311 - draws pages, guards nothing
    claims = sorted({(r.video_id, r.claim, r.url) for r in readings if r.url in pages})
    related, unrelated, nearer = [], [], []
    for video_id, claim, url in claims:
        others = sorted(u for u, page in pages.items() if video_id not in page.videos)
        near = [
            u
            for u in others
            if category[video_id] in {category.get(video) for video in pages[u].videos}
        ]
        related.append(_relevance(claim, pages[url], embedder))
        unrelated.append(_relevance(claim, pages[generator.choice(others)], embedder))
        nearer.append(_relevance(claim, pages[generator.choice(near)], embedder))
    _say(f"\nRelevance ({embedder.name}): n = {len(related)} related, as many unrelated")
    _say(f"  AUC against pages of other videos      {area_under_curve(related, unrelated):.3f}")
    _say(f"  AUC against pages of the same category {area_under_curve(related, nearer):.3f}")
    _say("  target .92; chance .50")


def _relevance(claim: str, page: RecordedPage, embedder: Embedder) -> float:
    return select_passages(claim, page.text, "", embedder).relevance


# --- The demo -----------------------------------------------------------------------------------

CORPORA = Path(__file__).resolve().parents[1] / "corpora"


def _load(name: str) -> Any:
    return yaml.safe_load((CORPORA / name).read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class DemoPage:
    """A readable page of the miniature web with its rated domain."""

    url: str
    domain: str
    rating: Rating
    page: PageExcerpt


def demo_pages() -> list[DemoPage]:
    """Read the miniature web's pages from their files, as the scraper would extract them."""
    ratings = {row["domain"]: row["rating"] for row in _load("miniature_ratings.yaml")["ratings"]}
    root = CORPORA / "miniature_web"
    found = []
    for file in sorted(root.rglob("*.html")):
        place = file.relative_to(root)
        domain = ".".join(place.parts[0].split(".")[-2:])
        url = f"http://{place.with_suffix('').as_posix()}"
        extract = extract_html(decode(file.read_bytes()), url)
        if extract.text:
            page = _excerpt(extract.title or "", extract.text, url=url)
            found.append(DemoPage(url, domain, ratings.get(domain, "unknown"), page))
    return found


def _demo_row(number: int, source: DemoPage, draft: EvidenceDraft) -> Evidence:
    return Evidence(
        evidence_id=f"e{number}",
        claim_id="claim",
        video_id="demo",
        hit_id=f"h{number}",
        query_id="query",
        canonical_url=source.url,
        domain=source.domain,
        title=source.page.title,
        status="ok",
        stance=draft.stance,
        stance_confidence=draft.stance_confidence,
        relevance=draft.relevance,
        rating=source.rating,
        rating_score=0.0,
        content_hash=source.url,
        basis="embedded",
    )


def report_demo(embedder: Embedder) -> None:
    """Print how the vote over all pages compares with each annotated claim of the demo."""
    pages = demo_pages()
    model = StatementsAndTone(embedder)
    stories = StoryIndex({source.url: source.page.text for source in pages})
    outcomes: Counter[str] = Counter()
    claims = _load("everyday_beliefs.yaml")["videos"][0]["claims"]
    _say(f"\nThe demo's claims against its {len(pages)} readable pages: n = {len(claims)}")
    for claim in claims:
        drafts = [read_page(claim["text"], source.page, embedder, model) for source in pages]
        rows = [
            _demo_row(number, source, draft)
            for number, (source, draft) in enumerate(zip(pages, drafts, strict=True))
            if draft is not None
        ]
        vote = decide(tally(rows, stories), VerdictsConfig(), "embedded")
        outcome = "right" if vote.stance == claim["stance"] else "wrong"
        outcomes["none" if outcome == "wrong" and vote.stance == "unclear" else outcome] += 1
        if outcome != "right":
            _say(f"  {vote.stance}, annotated {claim['stance']}: {claim['text']}")
    majority = _majority([claim["stance"] for claim in claims])
    _say(
        f"  right {outcomes['right']}, no leaning {outcomes['none']}, wrong {outcomes['wrong']} "
        f"(majority {majority:.3f})"
    )


def main() -> None:
    """Print every figure whose data is there."""
    embedder: Embedder = TfidfEmbedder() if "--tf-idf" in sys.argv else OnnxEmbedder()
    if (DATA / "factible").exists() and (DATA / "recorded_web").exists():
        readings, pages = published_readings(), recorded_pages()
        report_relevance(readings, pages, embedder)
        report_stance("Recorded pages, published stances", silver_pairs(readings, pages), embedder)
        report_stance("Texts given to the published model", given_pairs(), embedder)
        report_stance(
            "Recorded pages, annotated stances", annotated_pairs(readings, pages), embedder
        )
    else:
        _say(f"Skipped recorded pages: {DATA} does not hold them.")
    for name, folder, pairs in (
        ("Climate-FEVER sentences", "climate_fever", climate_pairs),
        ("AVeriTeC answers", "averitec", averitec_pairs),
    ):
        if (DATA / folder).exists():
            report_stance(name, pairs(), embedder)
        else:
            _say(f"Skipped {name}: {DATA / folder} does not exist.")
    report_demo(embedder)


if __name__ == "__main__":
    main()
