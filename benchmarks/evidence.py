"""How well the embedded engine reads pages: relevance, sides taken, and what each ground adds.

Run: `python -m benchmarks.evidence`. Prints, each with its n and its baseline:

- relevance: area under the ROC curve between pages that a search returned for a claim and pages of
  other videos (all, and of the same category only, which are nearer), and the shares of both above
  the least relevance that counts;
- annotated claims with a recorded web: each page against the published runs' stances (silver labels
  of gpt-4o-mini), and each claim, by the vote over its pages, against its annotation. The tone's
  operating point is also chosen anew for each video on the others, so that the figure shows what
  choosing it is worth;
- the same without each ground in turn;
- VitaminC (Schuster et al., 2021; CC BY-SA 3.0): how often each ground is right on pairs that
  differ in a number, a date or a word;
- the demo: each annotated claim of everyday_beliefs.yaml read on every page of the miniature web.

A decided answer is any but `unclear`; beside its accuracy stands what "always supports" scores on
the same items. Climate-FEVER and AVeriTeC are measured by benchmarks/quality.py.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from benchmarks.shared import DATA, load_annotated_videos
from factible_assets.config import VerdictsConfig
from factible_assets.reasoners.embedded.embedder import Embedder, OnnxEmbedder, Vectors
from factible_assets.reasoners.embedded.reading.evidence import LEAST_RELEVANCE, read_page
from factible_assets.reasoners.embedded.reading.passages import Selection, select_passages
from factible_assets.reasoners.embedded.reading.stance import (
    MINILM,
    OperatingPoint,
    PageStance,
    StanceModel,
    StatementsAndTone,
)
from factible_assets.records import Evidence, Rating
from factible_assets.services.ratings import rating_directory
from factible_assets.stages.origins import StoryIndex
from factible_assets.stages.ports import EvidenceDraft, PageExcerpt
from factible_assets.stages.reliability import rate
from factible_assets.stages.urls import host_of
from factible_assets.stages.verdict import decide, tally
from resources.scraping.extract import decode, extract_html

CORPORA = Path(__file__).resolve().parents[1] / "corpora"
SAME_CLAIM = 0.7
"""Cosine from which an extracted claim is taken for an annotated one."""
_POINTS = (0.1, 0.12, 0.145, 0.17, 0.2)
_LEAST_RIGHT = 0.8
"""Accuracy that the operating point is chosen for, on the other videos."""


class Remembering:
    """An embedder that embeds every text once: pages are read many times here."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, Vectors] = {}
        self.name = embedder.name

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text."""
        missing = list(dict.fromkeys(text for text in texts if text not in self._known))
        self._known.update(zip(missing, self._embedder.embed(missing), strict=True))
        return np.stack([self._known[text] for text in texts])


@dataclass(frozen=True, slots=True)
class Without:
    """A stance model that is deaf to one ground."""

    model: StanceModel
    ground: str

    @property
    def name(self) -> str:
        """Return what is left out."""
        return f"without {self.ground}"

    def read(self, claim: str, selection: Selection, *, title: str) -> PageStance:
        """Return what the model says, unless for that ground."""
        said = self.model.read(claim, selection, title=title)
        return PageStance() if said.ground == self.ground else said


def _say(text: str = "") -> None:
    sys.stdout.write(f"{text}\n")


def _lines(path: Path) -> Iterator[Any]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


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


@dataclass(frozen=True, slots=True)
class RecordedClaim:
    """An annotated claim with the pages that the published runs found for it.

    `silver` is what most of the runs that read a page said of it, by URL.
    """

    video_id: str
    text: str
    label: str
    pages: tuple[PageExcerpt, ...]
    ratings: tuple[Rating, ...]
    silver: dict[str, str]


def recorded_claims(
    readings: Sequence[PublishedReading], pages: dict[str, RecordedPage], embedder: Embedder
) -> list[RecordedClaim]:
    """Give each annotated claim the sources of the extracted claims that are nearest to it.

    A page that was not recorded is its search result's excerpt, as in the pipeline.
    """
    directory = rating_directory([CORPORA / "domain_ratings.yaml"])
    found = []
    for video_id, stances in _annotated_stances().items():
        own = [each for each in readings if each.video_id == video_id]
        extracted, annotated = sorted({each.claim for each in own}), list(stances)
        if not extracted:
            continue
        near = embedder.embed(extracted) @ embedder.embed(annotated).T
        for place, text in enumerate(annotated):
            same = {
                claim
                for claim, row in zip(extracted, near, strict=True)
                if row[place] > SAME_CLAIM and int(row.argmax()) == place
            }
            sources = {each.url: each for each in own if each.claim in same}
            if not sources:
                continue
            votes: dict[str, Counter[str]] = {}
            for each in own:
                if each.claim in same and not each.failed:
                    votes.setdefault(each.url, Counter())[each.stance] += 1
            found.append(
                RecordedClaim(
                    video_id,
                    text,
                    stances[text],
                    tuple(_page(each, pages) for each in sources.values()),
                    tuple(rate(video_id, host_of(url), directory).rating for url in sources),
                    {url: counts.most_common(1)[0][0] for url, counts in votes.items()},
                )
            )
    return found


def _page(source: PublishedReading, pages: dict[str, RecordedPage]) -> PageExcerpt:
    recorded = pages.get(source.url)
    text = source.snippet if recorded is None else recorded.text
    return PageExcerpt(source.url, source.title, source.snippet, text)


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


# --- Figures ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Answer:
    """What was answered, what is labelled, and the probability that was stated."""

    said: str
    label: str
    confidence: float = 0.0


def figures(answers: Sequence[Answer]) -> str:
    """Word coverage, accuracy with its baseline, refutations, macro-F1 and calibration."""
    decided = [each for each in answers if each.said != "unclear"]
    refuted = [each for each in decided if each.said == "refutes"]
    return (
        f"n = {len(answers)}, decided {len(decided) / max(1, len(answers)):.3f}, "
        f"right {_share(each.said == each.label for each in decided):.3f} "
        f"('always supports' there {_share(each.label == 'supports' for each in decided):.3f}, "
        f"of all {_share(each.label == 'supports' for each in answers):.3f}), "
        f"refutations {sum(each.label == 'refutes' for each in refuted)} of {len(refuted)}, "
        f"macro-F1 {_macro_f1(answers):.3f}, ECE of decided {calibration_error(decided):.3f}"
    )


def _share(hits: Iterator[bool]) -> float:
    found = list(hits)
    return sum(found) / max(1, len(found))


def _macro_f1(answers: Sequence[Answer]) -> float:
    scores = []
    for label in {each.label for each in answers}:
        hits = sum(each.said == each.label == label for each in answers)
        total = sum((each.said == label) + (each.label == label) for each in answers)
        scores.append(2 * hits / total)
    return sum(scores) / max(1, len(scores))


def calibration_error(decided: Sequence[Answer], bins: int = 10) -> float:
    """Return the expected calibration error over bins of equal width (Naeini et al., 2015)."""
    held: dict[int, list[Answer]] = {}
    for each in decided:
        held.setdefault(min(bins - 1, int(each.confidence * bins)), []).append(each)
    gaps = (
        abs(sum(each.said == each.label for each in group) - sum(each.confidence for each in group))
        for group in held.values()
    )
    return sum(gaps) / max(1, len(decided))


def area_under_curve(positive: Sequence[float], negative: Sequence[float]) -> float:
    """Return the probability that a positive scores above a negative; ties count half."""
    above = np.asarray(positive)[:, None] - np.asarray(negative)[None, :]
    return float((above > 0).mean() + 0.5 * (above == 0).mean())


def judge(
    claim: RecordedClaim, embedder: Embedder, model: StanceModel
) -> tuple[Answer, list[Answer]]:
    """Return the vote over a claim's pages, and what each page with a silver label says."""
    drafts = [read_page(claim.text, page, embedder, model) for page in claim.pages]
    answers = [
        Answer(draft.stance if draft else "unclear", claim.silver[page.canonical_url])
        for page, draft in zip(claim.pages, drafts, strict=True)
        if page.canonical_url in claim.silver
    ]
    sources = zip(claim.pages, claim.ratings, strict=True)
    said, confidence = _vote(list(sources), drafts)
    return Answer(said, claim.label, confidence), answers


def _vote(
    sources: Sequence[tuple[PageExcerpt, Rating]], drafts: Sequence[EvidenceDraft | None]
) -> tuple[str, float]:
    rows = [
        _row(number, page, rating, draft)
        for number, ((page, rating), draft) in enumerate(zip(sources, drafts, strict=True))
        if draft is not None
    ]
    stories = StoryIndex({page.canonical_url: page.text for page, _ in sources})
    vote = decide(tally(rows, stories), VerdictsConfig(), "embedded")
    return vote.stance, vote.score


def _row(number: int, page: PageExcerpt, rating: Rating, draft: EvidenceDraft) -> Evidence:
    return Evidence(
        evidence_id=f"e{number}",
        claim_id="claim",
        video_id="given",
        hit_id=f"h{number}",
        query_id="query",
        canonical_url=page.canonical_url,
        domain=host_of(page.canonical_url),
        title=page.title,
        status="ok",
        stance=draft.stance,
        stance_confidence=draft.stance_confidence,
        relevance=draft.relevance,
        rating=rating,
        rating_score=0.0,
        content_hash=page.canonical_url,
        basis="embedded",
    )


# --- Reports ------------------------------------------------------------------------------------


def report_recorded(claims: Sequence[RecordedClaim], embedder: Embedder) -> None:
    """Print the sides taken on the recorded web, without each ground, and cross-validated."""
    by_point = {
        point: [
            judge(c, embedder, StatementsAndTone(embedder, OperatingPoint(point))) for c in claims
        ]
        for point in _POINTS
    }
    shipped = by_point[MINILM.supports]
    _say("\nPages, published stances: " + figures([a for _, page in shipped for a in page]))
    _say("Annotated claims:         " + figures([answer for answer, _ in shipped]))
    chosen = []
    for number, claim in enumerate(claims):
        others = [place for place, each in enumerate(claims) if each.video_id != claim.video_id]
        point = _choose({p: [by_point[p][o][0] for o in others] for p in _POINTS})
        chosen.append(by_point[point][number][0])
    _say("  operating point chosen on the other videos: " + figures(chosen))
    for ground in ("assertion", "denial", "number", "opposite", "rating", "divided", "tone"):
        model = Without(StatementsAndTone(embedder), ground)
        _say(f"  {model.name}: " + figures([judge(c, embedder, model)[0] for c in claims]))


def _choose(answers: dict[float, list[Answer]]) -> float:
    """Return the point that decides most with enough of it right, else the strictest."""
    for point in _POINTS:
        decided = [each for each in answers[point] if each.said != "unclear"]
        if _share(each.said == each.label for each in decided) >= _LEAST_RIGHT:
            return point
    return _POINTS[-1]


def report_vitaminc(embedder: Embedder, sample: int = 1000) -> None:
    """Print how often each ground is right where a number, a date or a word decides."""
    labels = {"SUPPORTS": "supports", "REFUTES": "refutes", "NOT ENOUGH INFO": "unclear"}
    rows = []
    for name in ("real_even", "synthetic_even"):
        with gzip.open(DATA / "vitaminc" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
            rows += [json.loads(line) for line in file]
    random.Random(0).shuffle(rows)  # noqa: S311 - draws a sample, guards nothing
    model = StatementsAndTone(embedder)
    by_ground: dict[str, list[Answer]] = {}
    for row in rows[:sample]:
        selection = select_passages(row["claim"], row["evidence"], "", embedder)
        said = model.read(row["claim"], selection, title=row["page"])
        answer = Answer(said.stance, labels[row["label"]], said.confidence)
        by_ground.setdefault(said.ground or "none", []).append(answer)
    _say(f"\nVitaminC, n = {sample}")
    for ground, answers in sorted(by_ground.items()):
        _say(f"  {ground}: {figures(answers)}")


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
    shares = [np.mean(np.asarray(each) >= LEAST_RELEVANCE) for each in (related, unrelated)]
    _say(f"  at least {LEAST_RELEVANCE}: {shares[0]:.2f} of related, {shares[1]:.2f} of strangers")


def _relevance(claim: str, page: RecordedPage, embedder: Embedder) -> float:
    return select_passages(claim, page.text, "", embedder).relevance


# --- The demo -----------------------------------------------------------------------------------


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
            page = PageExcerpt(url, extract.title or "", "", extract.text)
            found.append(DemoPage(url, domain, ratings.get(domain, "unknown"), page))
    return found


def report_demo(embedder: Embedder) -> None:
    """Print how the vote over all pages compares with each annotated claim of the demo."""
    pages = demo_pages()
    sources = [(each.page, each.rating) for each in pages]
    model = StatementsAndTone(embedder)
    answers = []
    for claim in _load("everyday_beliefs.yaml")["videos"][0]["claims"]:
        drafts = [read_page(claim["text"], page, embedder, model) for page, _ in sources]
        answers.append(Answer(*_vote(sources, drafts)[:1], claim["stance"]))
        if answers[-1].said != claim["stance"]:
            _say(f"  {answers[-1].said}, annotated {claim['stance']}: {claim['text']}")
    _say(f"The demo against its {len(pages)} readable pages: {figures(answers)}")


def main() -> None:
    """Print every figure whose data is there."""
    embedder = Remembering(OnnxEmbedder())
    if (DATA / "factible").exists() and (DATA / "recorded_web").exists():
        readings, pages = published_readings(), recorded_pages()
        report_recorded(recorded_claims(readings, pages, embedder), embedder)
        report_relevance(readings, pages, embedder)
    else:
        _say(f"Skipped recorded pages: {DATA} does not hold them.")
    if (DATA / "vitaminc").exists():
        report_vitaminc(embedder)
    report_demo(embedder)


if __name__ == "__main__":
    main()
