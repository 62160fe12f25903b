"""The embedded engine on real data: the tables of docs/quality.md.

Run: `python -m benchmarks.quality --write`. Three parts, each skipped with a sentence where its
data is not beside the project:

- the whole pipeline on the annotated videos and the recorded web: every metric of the evaluation;
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
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from benchmarks.pipeline import check, prepare
from benchmarks.shared import DATA
from factible_assets.config import VerdictsConfig
from factible_assets.corpora import load_corpora
from factible_assets.evaluation.loading import load_outcomes
from factible_assets.evaluation.matchers import default_matcher
from factible_assets.evaluation.matching import ClaimMatcher
from factible_assets.evaluation.metrics.stances import Judgement
from factible_assets.evaluation.metrics.summary import stance_figures
from factible_assets.evaluation.scoring import score
from factible_assets.evaluation.tables import HEADINGS, figure_row, figures_markdown
from factible_assets.reasoners.embedded.embedder import Embedder, OnnxEmbedder
from factible_assets.reasoners.embedded.evidence import read_page
from factible_assets.reasoners.embedded.reading.stance import StanceModel, StatementsAndTone
from factible_assets.records import Evidence, Stance
from factible_assets.stages.origins import StoryIndex
from factible_assets.stages.ports import EvidenceDraft, PageExcerpt
from factible_assets.stages.verdict import decide, tally
from warehouse.store import Warehouse

PAGE = Path(__file__).resolve().parents[1] / "docs" / "quality.md"
RESAMPLES = 1000

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

This page is written by `python -m benchmarks.quality --write`, on data that is not part of the
project. It measures what a machine without a key does: the engine as it is installed
({model}). An interval is a bootstrap over videos, or over claims where there are no videos; the
baseline beside a figure is what the trivial answer scores on the same items. The engine abstains
unless a page says a thing plainly: `unclear` is its answer to most pages.
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


def _vote(claim: GivenClaim, drafts: Sequence[EvidenceDraft | None]) -> tuple[Stance, float]:
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


Level = Literal["sources", "claims"]


def judge(claims: Sequence[GivenClaim], reader: Engine, level: Level) -> list[Judgement]:
    """Judge given evidence, source by source or claim by claim."""
    judgements = []
    for claim in claims:
        drafts = reader.read(claim)
        if level == "sources":
            judgements += [
                Judgement(claim.name, label, draft.stance if draft else "unclear")
                for label, draft in zip(claim.source_labels, drafts, strict=True)
            ]
        else:
            stance, confidence = _vote(claim, drafts)
            judgements.append(Judgement(claim.name, claim.label, stance, confidence))
    return judgements


def stance_table(judgements: Sequence[Judgement], unit: str) -> str:
    """Return the figures of a set as a table in Markdown, with how often a side was taken."""
    sides = [each for each in judgements if each.predicted in {"supports", "refutes"}]
    right = sum(each.predicted == each.gold for each in sides)
    wrong_side = sum(
        each.gold in {"supports", "refutes"} and each.gold != each.predicted for each in sides
    )
    rows = [figure_row(figure) for figure in stance_figures(judgements, resamples=RESAMPLES)[1:]]
    lines = [HEADINGS, ("---",) * len(HEADINGS), *((*row[:-1], unit) for row in rows)]
    told = (
        f"Sides taken: {len(sides)} of {len(judgements)} {unit}; {right} right, "
        f"{wrong_side} on the opposite side, {len(sides) - right - wrong_side} on "
        f"{unit} labelled neither way."
    )
    return "\n".join([told, "", *(f"| {' | '.join(line)} |" for line in lines)])


# --- The parts ----------------------------------------------------------------------------------


def videos_part() -> str:
    """Run the pipeline on the annotated videos and score it."""
    with tempfile.TemporaryDirectory() as scratch:
        settings, videos = prepare(Path(scratch))
        for number, video_id in enumerate(videos, start=1):
            check(settings, video_id)
            sys.stderr.write(f"\rvideos checked: {number} of {len(videos)}")
        sys.stderr.write("\n")
        reading = load_corpora([settings.home_corpora])
        outcomes = load_outcomes(Warehouse(settings.warehouse), reading)
    published = ClaimMatcher(default_matcher().similarity, 0.70, "greedy")
    first, second = score(outcomes, matcher=default_matcher()), score(outcomes, matcher=published)
    names = ("precision@5", "recall", "F1", "MAP over hits", "MAP over relevant")
    rows = [figure_row(each) for each in second.figures if each.name in names]
    lines = [HEADINGS, ("---",) * len(HEADINGS), *rows]
    return "\n".join(
        [
            "## Videos: the whole pipeline on a recorded web",
            "",
            figures_markdown(first),
            "",
            f"The claim metrics by the published matcher ({second.matcher}):",
            "",
            *(f"| {' | '.join(line)} |" for line in lines),
        ]
    )


def climate_part(reader: Engine) -> str:
    """Measure stance on Climate-FEVER."""
    claims = list(climate_claims())
    return "\n".join(
        [
            "## Climate-FEVER: what single sentences say",
            "",
            "Each sentence of Wikipedia, in three classes (macro-F1 over the classes that occur):",
            "",
            stance_table(judge(claims, reader, "sources"), "sentences"),
            "",
            "Each claim, by the vote over its five sentences, in four classes:",
            "",
            stance_table(judge(claims, reader, "claims"), "claims"),
        ]
    )


def averitec_part(reader: Engine) -> str:
    """Measure verdicts from given evidence on AVeriTeC."""
    return "\n".join(
        [
            "## AVeriTeC: verdicts from given evidence",
            "",
            "The annotators' questions and answers are the evidence; four classes:",
            "",
            stance_table(judge(list(averitec_claims()), reader, "claims"), "claims"),
        ]
    )


def main() -> None:
    """Print the page, or write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"Write {PAGE.name}.")
    write = parser.parse_args().write
    reader = engine()
    parts = [_TEXT.format(model=reader.model.name)]
    for folder, part in (
        ("recorded_web", videos_part),
        ("climate_fever", lambda: climate_part(reader)),
        ("averitec", lambda: averitec_part(reader)),
    ):
        if (DATA / folder).exists():
            parts.append(part())
        else:
            sys.stderr.write(f"Skipped a part: {DATA / folder} is not there.\n")
    page = "\n\n".join(part.strip() for part in parts) + "\n"
    if write and len(parts) > 1:
        PAGE.write_text(page, encoding="utf-8")
    sys.stdout.write(page)


if __name__ == "__main__":
    main()
