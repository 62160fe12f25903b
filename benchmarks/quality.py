"""The embedded engine on real data: the tables of docs/quality.md.

Run: `python -m benchmarks.quality --write`. Parts (PARTS), each skipped with a sentence where its
data is not beside the project; the headline table is gathered from them:

- the whole pipeline on the annotated videos and the recorded web;
- stance on Climate-FEVER (Diggelmann et al., 2020): of each sentence in three classes, and of each
  claim by the vote over its five sentences in four;
- verdicts from given evidence on AVeriTeC (Schlichtkrull et al., 2023): each question with its
  answers is one source, and the vote over them is the verdict.

Every figure has its n, the bootstrap interval (over videos, or over claims where there are none)
and the baseline beside it. Nothing here is tuned: the engine is the one that a user gets.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import fill
from typing import Any

from benchmarks.pipeline import check, prepare
from benchmarks.shared import DATA
from factible_assets.config import VerdictsConfig
from factible_assets.corpora import load_corpora
from factible_assets.evaluation.figures import Figure
from factible_assets.evaluation.intervals import statistic_interval
from factible_assets.evaluation.matching import default_matcher
from factible_assets.evaluation.measures import STANCE_MEASURES
from factible_assets.evaluation.metrics.stances import (
    Judgement,
    accuracy,
    decided,
    expected_calibration_error,
    grouped,
)
from factible_assets.evaluation.outcomes import load_outcomes
from factible_assets.evaluation.scoring import score
from factible_assets.evaluation.tables import figure_row
from factible_assets.reasoners.embedded.embedder import Embedder, OnnxEmbedder
from factible_assets.reasoners.embedded.reading.evidence import read_page
from factible_assets.reasoners.embedded.reading.stance import StanceModel, StatementsAndTone
from factible_assets.records import Evidence, Stance
from factible_assets.stages.origins import StoryIndex
from factible_assets.stages.ports import EvidenceDraft, PageExcerpt
from factible_assets.stages.verdict import decide, tally
from warehouse.store import Warehouse

PAGE = Path(__file__).resolve().parents[1] / "docs" / "quality.md"
RESAMPLES = 1000
CLAIMS = 5

_CLIMATE: dict[str, Stance] = {
    "SUPPORTS": "supports",
    "REFUTES": "refutes",
    "NOT_ENOUGH_INFO": "unclear",
    "DISPUTED": "mixed",
}
_AVERITEC: dict[str, Stance] = {
    "Supported": "supports",
    "Refuted": "refutes",
    "Not Enough Evidence": "unclear",
    "Conflicting Evidence/Cherrypicking": "mixed",
}
_TEXT = """\
# How good is the embedded engine?

What a machine without a key does, as it is installed ({model}), on data that is not part of the
project; written by `python -m benchmarks.quality --write`. Intervals (95 %) are bootstraps over
videos, or over claims where there are no videos. A baseline is what a trivial answer scores on the
same items: evenly spaced sentences for claims, "always supports" for what was decided, the most
frequent label for macro-F1. To abstain is `unclear`: read an accuracy beside the share decided.
"""


# --- Single claims against given evidence -------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GivenClaim:
    """A claim, the sources that are given for it with their labels (if any), and its own label."""

    name: str
    text: str
    sources: tuple[PageExcerpt, ...]
    source_labels: tuple[Stance, ...]
    label: Stance


def climate_claims() -> Iterator[GivenClaim]:
    """Read Climate-FEVER: five sentences of Wikipedia for each claim."""
    with (DATA / "climate_fever" / "dev.jsonl").open(encoding="utf-8") as file:
        for row in map(json.loads, file):
            found = row["evidences"]
            yield GivenClaim(
                name=row["claim_id"],
                text=row["claim"],
                sources=tuple(
                    _excerpt(f"{row['claim_id']}/{number}", each["article"], each["evidence"])
                    for number, each in enumerate(found)
                ),
                source_labels=tuple(_CLIMATE[each["evidence_label"]] for each in found),
                label=_CLIMATE[row["claim_label"]],
            )


def averitec_claims() -> Iterator[GivenClaim]:
    """Read AVeriTeC: each question with its answers is one source."""
    rows = json.loads((DATA / "averitec" / "dev_even.json").read_text(encoding="utf-8"))
    for number, row in enumerate(rows):
        yield GivenClaim(
            name=str(number),
            text=row["claim"],
            sources=tuple(
                _excerpt(f"{number}/{place}", "", _question_and_answers(each))
                for place, each in enumerate(row["questions"])
            ),
            source_labels=(),
            label=_AVERITEC[row["label"]],
        )


def _question_and_answers(question: Any) -> str:
    told = [
        f"{answer['answer'].strip().rstrip('.')}. {answer.get('boolean_explanation') or ''}"
        for answer in question["answers"]
    ]
    return " ".join([f"{question['question'].strip().rstrip('?')}?", *told]).strip()


def _excerpt(place: str, title: str, text: str) -> PageExcerpt:
    return PageExcerpt(f"https://given.example/{place}", title, "", text)


@dataclass(frozen=True, slots=True)
class Engine:
    """What a user gets."""

    embedder: Embedder
    model: StanceModel

    def read(self, claim: GivenClaim) -> list[EvidenceDraft | None]:
        """Read every given source."""
        return [read_page(claim.text, each, self.embedder, self.model) for each in claim.sources]


def engine() -> Engine:
    """Return the engine as it is installed."""
    embedder = OnnxEmbedder()
    return Engine(embedder, StatementsAndTone(embedder))


def _vote(claim: GivenClaim, drafts: Drafts) -> tuple[Stance, float]:
    """Return the stance of the vote over the drafts, all sources being rated alike."""
    rows = [
        Evidence(
            evidence_id=f"e{number}",
            claim_id=claim.name,
            video_id="given",
            hit_id=f"h{number}",
            query_id="given",
            canonical_url=source.canonical_url,
            domain="given.example",
            title=source.title,
            status="ok",
            stance=draft.stance,
            stance_confidence=draft.stance_confidence,
            relevance=draft.relevance,
            rating="medium",
            rating_score=0.55,
            content_hash=source.canonical_url,
            basis="embedded",
        )
        for number, (source, draft) in enumerate(zip(claim.sources, drafts, strict=True))
        if draft is not None
    ]
    stories = StoryIndex({each.canonical_url: each.text for each in claim.sources})
    vote = decide(tally(rows, stories), VerdictsConfig(), "embedded")
    return vote.stance, vote.score


Drafts = Sequence[EvidenceDraft | None]


def of_sources(claims: Sequence[GivenClaim], read: Sequence[Drafts]) -> list[Judgement]:
    """Return what each source was held to say, beside its label."""
    return [
        Judgement(claim.name, label, draft.stance if draft else "unclear")
        for claim, drafts in zip(claims, read, strict=True)
        for label, draft in zip(claim.source_labels, drafts, strict=True)
    ]


def of_claims(claims: Sequence[GivenClaim], read: Sequence[Drafts]) -> list[Judgement]:
    """Return the vote over each claim's sources, beside the claim's label."""
    return [
        Judgement(claim.name, claim.label, *_vote(claim, drafts))
        for claim, drafts in zip(claims, read, strict=True)
    ]


# --- Tables -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Part:
    """One section of the page, and its rows of the headline table."""

    text: str
    headline: tuple[tuple[str, Figure], ...] = ()


COLUMNS = ("figure", "value", "95 % interval", "baseline", "n")


def table(rows: Sequence[tuple[str, Figure]]) -> str:
    """Return figures as a table in Markdown, without those that nothing is known of."""
    lines = [COLUMNS, ("---",) * len(COLUMNS)]
    for name, figure in rows:
        _, _, value, interval, baseline, n, unit = figure_row(figure)
        if figure.value is not None:
            lines.append((name, value, interval, baseline, f"{n} {unit}"))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def stance_rows(judgements: Sequence[Judgement], unit: str) -> list[tuple[str, Figure]]:
    """Return what to know of a set of stances: how much was decided, and how well."""
    said = [each for each in judgements if each.predicted not in {None, "unclear"}]
    refuted = [each for each in said if each.predicted == "refutes"]
    always = sum(each.gold == "supports" for each in said) / len(said) if said else None
    (measure,) = (each for each in STANCE_MEASURES if each.name == "macro-F1")
    (macro,) = measure.of_groups(grouped(judgements), resamples=RESAMPLES)

    def pooled(
        items: Sequence[Judgement],
        statistic: Callable[[Sequence[Judgement]], float | None],
        baseline: float | None = None,
    ) -> Figure:
        interval = statistic_interval(grouped(items), statistic, resamples=RESAMPLES)
        return Figure("", statistic(items), len(items), unit, interval, baseline, "micro")

    def share_decided(items: Sequence[Judgement]) -> float | None:
        return (
            sum(each.predicted not in {None, "unclear"} for each in items) / len(items)
            if items
            else None
        )

    return [
        ("share decided", pooled(judgements, share_decided)),
        ("accuracy of what was decided", pooled(said, lambda each: accuracy(each).value, always)),
        ("precision of refutations", pooled(refuted, lambda each: accuracy(each).value)),
        ("macro-F1, all classes", replace(macro, unit=unit)),
        (
            "calibration error (ECE) of what was decided",
            pooled(decided(said), lambda each: expected_calibration_error(each).value),
        ),
    ]


# --- The parts ----------------------------------------------------------------------------------

_CLAIMS = {
    "precision@5": "claims that annotators made too, of five (P@5)",
    "MAP over hits": "MAP over hits",
    "recall@important": "important annotated claims found",
    "recall": "annotated claims found",
    "nDCG by importance": "order by importance (nDCG)",
    "importance MAE": "error of importance",
}
_PIPELINE = {
    "retrieval success rate": "claims with a source",
    "independent origins per claim": "independent origins per claim",
    "quote grounding rate": "sources whose quote stands in their page",
    "complete verdicts": "complete verdicts",
}


def videos_part(_: Engine) -> Part:
    """Run the pipeline on the annotated videos and score it."""
    with tempfile.TemporaryDirectory() as scratch:
        settings, videos = prepare(Path(scratch))
        seconds = []
        for number, video_id in enumerate(videos, start=1):
            seconds.append(check(settings, video_id).seconds)
            sys.stderr.write(f"\rvideos checked: {number} of {len(videos)}")
        sys.stderr.write("\n")
        reading = load_corpora([settings.home_corpora])
        outcomes = load_outcomes(Warehouse(settings.warehouse), reading)
    scored = score(outcomes, matcher=default_matcher())

    def rows(names: dict[str, str]) -> list[tuple[str, Figure]]:
        found = [(label, scored.figure(name)) for name, label in names.items()]
        return [(label, figure) for label, figure in found if figure is not None]

    claims, stances = rows(_CLAIMS), stance_rows(scored.judgements, "claims")
    told = (
        f"{len(videos)} videos of an earlier fact-checker, {CLAIMS} claims each, matched by "
        f"{scored.matcher}. Means over videos. Median {statistics.median(seconds):.1f} s a video."
    )
    text = [
        "## Videos: the whole pipeline on a recorded web",
        told,
        table(claims),
        "What pages are read for these claims:",
        table(rows(_PIPELINE)),
        "Verdicts, where the claim is one that annotators gave a stance to:",
        table(stances),
    ]
    named = [(f"videos: {label}", figure) for label, figure in (*claims[:3], *stances[:3])]
    return Part("\n\n".join(text), tuple(named))


def climate_part(reader: Engine) -> Part:
    """Measure stance on Climate-FEVER."""
    given = list(climate_claims())
    read = [reader.read(claim) for claim in given]
    sentences = stance_rows(of_sources(given, read), "sentences")
    claims = stance_rows(of_claims(given, read), "claims")
    text = [
        "## Climate-FEVER: what single sentences say",
        "Each sentence of Wikipedia, in three classes:",
        table(sentences),
        "Each claim, by the vote over its five sentences, in four classes:",
        table(claims),
    ]
    named = [(f"Climate-FEVER claims: {label}", figure) for label, figure in claims[:2]]
    return Part("\n\n".join(text), tuple(named))


def averitec_part(reader: Engine) -> Part:
    """Measure verdicts from given evidence on AVeriTeC."""
    given = list(averitec_claims())
    rows = stance_rows(of_claims(given, [reader.read(claim) for claim in given]), "claims")
    text = [
        "## AVeriTeC: verdicts from given evidence",
        "The annotators' questions and answers are the evidence; four classes:",
        table(rows),
    ]
    return Part("\n\n".join(text), tuple((f"AVeriTeC: {label}", each) for label, each in rows[:2]))


PARTS: tuple[tuple[str, Callable[[Engine], Part]], ...] = (
    ("recorded_web", videos_part),
    ("climate_fever", climate_part),
    ("averitec", averitec_part),
)
"""The folder of data that a part needs, and the part. The page has them in this order."""


def main() -> None:
    """Print the page, or write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"Write {PAGE.name}.")
    write = parser.parse_args().write
    reader = engine()
    parts = []
    for folder, part in PARTS:
        if (DATA / folder).exists():
            parts.append(part(reader))
        else:
            sys.stderr.write(f"Skipped a part: {DATA / folder} is not there.\n")
    opening = fill(" ".join(_TEXT.format(model=reader.model.name).splitlines()[2:]), 100)
    title = _TEXT.splitlines()[0]
    headline = table([row for part in parts for row in part.headline])
    page = "\n\n".join([title, opening, headline, *(part.text for part in parts)]) + "\n"
    if write and parts:
        PAGE.write_text(page, encoding="utf-8")
    sys.stdout.write(page)


if __name__ == "__main__":
    main()
