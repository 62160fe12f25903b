"""Measures the embedded engine on real data and writes docs/quality.md.

Run: `python -m benchmarks.quality --write`. Each part is skipped with a sentence if its data is
missing:

- the whole pipeline on the annotated videos and the recorded web;
- verdicts on the annotated claims, each with its recorded pages;
- stance on Climate-FEVER (Diggelmann et al., 2020): of each sentence in three classes, and of each
  claim by the vote over its five sentences in four;
- verdicts from given evidence on AVeriTeC (Schlichtkrull et al., 2023): each question with its
  answers is one source, and the vote over them is the verdict.

Every figure has its n, its bootstrap interval (over videos, or over claims without videos) and its
baseline. Nothing is tuned here: the engine is the installed one. The weights of claims are held out
by video; the vote's constants were fitted on these sets (stages/verdict.py).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import fill

import numpy as np

from benchmarks.claims import fit_without, held_out, measure
from benchmarks.evidence import (
    GivenClaim,
    Remembering,
    averitec_claims,
    climate_claims,
    recorded_claims,
    vote,
)
from benchmarks.shared import DATA, grouped, load_annotated_videos
from factible_assets.config import FactCheckConfig
from factible_assets.corpora.reading import load_corpora
from factible_assets.evaluation.figures import Figure, statistic_interval
from factible_assets.evaluation.matching import default_matcher
from factible_assets.evaluation.measures import STANCE_MEASURES
from factible_assets.evaluation.metrics.claims import (
    average_precision,
    importance_mae,
    ndcg_by_importance,
    precision_at_k,
    recall_at_important,
    recall_at_k,
)
from factible_assets.evaluation.metrics.stances import (
    Judgement,
    accuracy,
    decided,
    expected_calibration_error,
)
from factible_assets.evaluation.outcomes import load_outcomes
from factible_assets.evaluation.scoring import Evaluation, score
from factible_assets.evaluation.tables import figure_row
from factible_assets.exchange.importing import import_corpus
from factible_assets.reasoners.embedded.embedder import Embedder, minilm
from factible_assets.reasoners.readers.page import PageReader
from factible_assets.reasoners.readers.plain import PlainReader
from factible_assets.runs.launch import run_video
from factible_assets.runs.result import StoredVideo
from factible_assets.settings import Settings
from factible_assets.stages.ports import EvidenceDraft, PageExcerpt, ReasonerRefusalError
from factible_assets.stages.urls import canonical_url
from resources.storage.archive import Archive
from tests.reasoners.material import CLAIM, QUERY, VIDEO
from warehouse.store import Warehouse

PAGE = Path(__file__).resolve().parents[1] / "docs" / "quality.md"
RESAMPLES = 1000
CLAIMS = 5

_TEXT = """\
# How good is the embedded engine?

These figures describe the installed engine on a machine without a key (plain reader), on data
outside the project. `python -m benchmarks.quality --write` writes this page. Intervals (95 %) are
bootstraps over videos, or over claims without videos. A baseline is the score of a trivial answer
on the same items: evenly spaced sentences for claims, "always supports" for decided verdicts, the
most frequent label for macro-F1. `unclear` counts as undecided, so read an accuracy together with
the share decided. This mode takes a side only where a page states the claim almost in its words.
Few pages here do, so it decides almost nothing. The README has figures of the other modes, on
everyday facts.
"""


_HELD_OUT = {
    "precision": precision_at_k,
    "MAP over hits": average_precision,
    "recall@important": recall_at_important,
    "recall": recall_at_k,
    "nDCG by importance": ndcg_by_importance,
    "importance MAE": importance_mae,
}
"""Metrics of claims by the name of their figure."""

_TRIED = "[tried.md](tried.md) explains the misses and lists approaches that did not help."


@dataclass(frozen=True, slots=True)
class Engine:
    """The installed engine."""

    embedder: Embedder
    reader: PageReader

    def read(self, claim: GivenClaim) -> list[EvidenceDraft | None]:
        asked = CLAIM.model_copy(update={"text": claim.text})

        async def read(page: PageExcerpt) -> EvidenceDraft | None:
            with suppress(ReasonerRefusalError):  # pages in other languages
                return (await self.reader.read_evidence(VIDEO, asked, QUERY, page)).value
            return None

        async def read_all() -> list[EvidenceDraft | None]:
            return await asyncio.gather(*map(read, claim.sources))

        return asyncio.run(read_all())


def engine() -> Engine:
    embedder = Remembering(minilm())
    return Engine(embedder, PageReader(embedder, PlainReader(), "embedded"))


Drafts = Sequence[EvidenceDraft | None]


def of_sources(claims: Sequence[GivenClaim], read: Sequence[Drafts]) -> list[Judgement]:
    """Return the stance of each source with its label."""
    return [
        Judgement(claim.name, label, draft.stance if draft else "unclear")
        for claim, drafts in zip(claims, read, strict=True)
        for label, draft in zip(claim.source_labels, drafts, strict=True)
        if label is not None
    ]


def of_claims(claims: Sequence[GivenClaim], read: Sequence[Drafts]) -> list[Judgement]:
    """Return the vote over each claim's sources with the claim's label."""
    return [
        Judgement(
            claim.name,
            claim.label,
            *vote(
                claim,
                [
                    (each.stance, each.stance_confidence, each.ground) if each else None
                    for each in drafts
                ],
                "embedded",
            ),
        )
        for claim, drafts in zip(claims, read, strict=True)
    ]


# --- Tables -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Part:
    """One section of the page, and its rows of the headline table."""

    text: str
    headline: tuple[tuple[str, Figure], ...] = ()
    goals: tuple[tuple[str, str, str, bool], ...] = ()
    """A goal: the figure, the target, the measured value, and whether it is reached."""


def goal(
    figure: Figure, name: str, *, least: float | None = None, most: float | None = None
) -> tuple[str, str, str, bool]:
    """Compare a figure with its bounds, or with its baseline if there are none."""
    value = figure.value if figure.value is not None else float("nan")
    measured = "nothing to measure" if figure.value is None else f"{value:.3f} (n = {figure.n})"
    if least is not None:
        return name, f"at least {least:.2f}", measured, round(value, 2) >= least
    if most is not None:
        return name, f"at most {most:.2f}", measured, round(value, 2) <= most
    baseline = figure.baseline if figure.baseline is not None else float("nan")
    asked = "not below the baseline" + (f", {baseline:.3f}" if figure.baseline is not None else "")
    return name, asked, measured, value >= baseline


COLUMNS = ("figure", "value", "95 % interval", "baseline", "n")


def table(rows: Sequence[tuple[str, Figure]]) -> str:
    """Format the defined figures as a table in Markdown."""
    lines = [COLUMNS, ("---",) * len(COLUMNS)]
    for name, figure in rows:
        _, _, value, interval, baseline, n, unit = figure_row(figure)
        if figure.value is not None:
            lines.append((name, value, interval, baseline, f"{n} {unit}"))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def stance_rows(judgements: Sequence[Judgement], unit: str) -> list[tuple[str, Figure]]:
    """Return the share decided and the quality of a set of stances."""
    said = [each for each in judgements if each.predicted not in {None, "unclear"}]
    refuted = [each for each in said if each.predicted == "refutes"]
    always = sum(each.gold == "supports" for each in said) / len(said) if said else None
    (measure,) = (each for each in STANCE_MEASURES if each.name == "macro-F1")
    (macro,) = measure.of_groups(grouped(judgements), RESAMPLES)

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
        ("accuracy of decided ones", pooled(said, lambda each: accuracy(each).value, always)),
        ("precision of refutations", pooled(refuted, lambda each: accuracy(each).value)),
        ("macro-F1, all classes", replace(macro, unit=unit)),
        (
            "calibration error (ECE) of decided ones",
            pooled(decided(said), lambda each: expected_calibration_error(each).value),
        ),
    ]


_SECONDS, _MEGABYTES = 6, 700


def pace() -> float:
    """Return the seconds that this machine takes for two million dependent reads."""
    links = np.random.default_rng(1).permutation(2_000_000).tolist()
    place, began = 0, time.perf_counter()
    for _ in links:
        place = links[place]
    return time.perf_counter() - began


@contextmanager
def on_one_core() -> Iterator[None]:
    """Keep this thread and its children on one core, where the system allows it.

    Two cores that are threads of one core need a fifth longer for the same work.
    """
    if sys.platform != "linux":
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def goals_text(goals: Sequence[tuple[str, str, str, bool]]) -> str:
    """Return the section with the goals."""
    lines = ["| figure | goal | measured | reached |", "| --- | --- | --- | --- |"]
    for name, asked, measured, reached in goals:
        lines.append(f"| {name} | {asked} | {measured} | {'yes' if reached else 'no'} |")
    return "\n\n".join(["## Goals", "\n".join(lines), _TRIED])


# --- The parts ----------------------------------------------------------------------------------

_CLAIMS = {
    "precision": "share of five claims that an annotator made too (P@5)",
    "MAP over hits": "MAP over hits",
    "recall@important": "important annotated claims found",
    "recall": "annotated claims found",
    "nDCG by importance": "order by importance (nDCG)",
    "importance MAE": "error of importance",
}
_PIPELINE = {
    "retrieval success rate": "claims with a source",
    "independent origins per claim": "independent origins per claim",
    "quote grounding rate": "sources whose page contains their quote",
    "complete verdicts": "complete verdicts",
}


def held_out_figures(scored: Evaluation) -> list[tuple[str, Figure]]:
    """Return the figures of claims with weights held out by video.

    The baselines come from the pipeline's own figures, whose weights were fitted to all videos.
    """
    videos = [measure(each) for each in load_annotated_videos()]
    found = held_out(videos, fit_without(videos), CLAIMS)
    rows = []
    for name, label in _CLAIMS.items():
        figure = scored.figure(name)
        values = [value for each in found if (value := _HELD_OUT[name](each).value) is not None]
        if figure is None or not values:
            continue
        interval = statistic_interval([[each] for each in values], statistics.fmean)
        rows.append((label, replace(figure, value=statistics.fmean(values), interval=interval)))
    return rows


def videos_part(_: Engine) -> Part:
    """Run the pipeline on the annotated videos, each in a Dagster run of this process; score it."""
    with tempfile.TemporaryDirectory() as scratch:
        settings = Settings(home=Path(scratch))
        videos = import_corpus(DATA / "factible", settings.home_corpora).video_ids
        archive = Archive(settings.archive, canonicalise=canonical_url)
        for name in ("pages.jsonl", "hits.jsonl"):
            archive.import_from(DATA / "recorded_web" / name, "recorded")
        config, seconds = FactCheckConfig(reasoner="embedded"), []
        for number, video_id in enumerate(videos, start=1):
            started = time.process_time()
            with on_one_core():
                outcome = run_video(StoredVideo(video_id, settings), config=config)
            seconds.append(time.process_time() - started)
            sys.stderr.write(f"\rvideos checked: {number} of {len(videos)}")
            sys.stderr.writelines(f"\n{failure}\n" for failure in outcome.failures)
        sys.stderr.write("\n")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        reading = load_corpora([settings.home_corpora])
        outcomes = load_outcomes(Warehouse(settings.warehouse), reading)
    scored = score(outcomes, matcher=default_matcher())

    def rows(names: dict[str, str]) -> list[tuple[str, Figure]]:
        found = [(label, scored.figure(name)) for name, label in names.items()]
        return [(label, figure) for label, figure in found if figure is not None]

    claims, stances = held_out_figures(scored), stance_rows(scored.judgements, "claims")
    typical = statistics.median(seconds[1:])
    told = (
        f"{len(videos)} videos of an earlier fact-checker, {CLAIMS} claims each, greedy matching "
        "by a MiniLM cosine above .70. Means over videos. The weights for a video's claims come "
        "from the other videos (nested cross-validation). Check-worthiness from wording was fitted "
        "on written talks; the penalty for uncertain sentence ends was chosen on punctuated "
        "transcripts without their punctuation. "
        f"Median {typical:.1f} s of one core a video, "
        f"peak memory {peak:.0f} MB, on a machine that needs {pace():.2f} s for two million "
        "dependent reads (at rest .3 s, and 3.8 s a video)."
    )
    text = [
        "## Videos: the whole pipeline on a recorded web",
        told,
        table(claims),
        "The pages read for these claims:",
        table(rows(_PIPELINE)),
        "Verdicts on the claims that match an annotated stance:",
        table(stances),
    ]
    named = [(f"videos: {label}", figure) for label, figure in (*claims[:3], *stances[:3])]
    (precision, maps, recall), (share, right) = (
        [figure for _, figure in rows] for rows in (claims[:3], stances[:2])
    )
    goals = (
        goal(precision, "claims: P@5", least=0.76),
        goal(maps, "claims: MAP over hits", least=0.87),
        goal(recall, "claims: important ones found", least=0.40),
        goal(share, "verdicts: share decided", least=0.50),
        goal(right, "verdicts: accuracy of decided ones", least=0.80),
        goal(right, 'verdicts: accuracy against "always supports"'),
        (
            "seconds of one core a video, after the first",
            "at most 6",
            f"{typical:.1f}",
            typical <= _SECONDS,
        ),
        ("peak memory, MB", "at most 700", f"{peak:.0f}", peak <= _MEGABYTES),
    )
    return Part("\n\n".join(text), tuple(named), goals)


def recorded_part(reader: Engine) -> Part:
    """Measure verdicts on the annotated claims with their recorded pages."""
    given = recorded_claims(reader.embedder)
    rows = stance_rows(of_claims(given, [reader.read(claim) for claim in given]), "claims")
    text = [
        "## Annotated claims with their recorded pages",
        "All annotated claims with a stance and recorded pages, word for word:",
        table(rows),
    ]
    goals = (goal(rows[4][1], "verdicts on annotated claims: calibration error", most=0.10),)
    return Part("\n\n".join(text), (), goals)


def climate_part(reader: Engine) -> Part:
    given = list(climate_claims())
    read = [reader.read(claim) for claim in given]
    sentences = stance_rows(of_sources(given, read), "sentences")
    claims = stance_rows(of_claims(given, read), "claims")
    text = [
        "## Climate-FEVER: single sentences and claims",
        "Each sentence of Wikipedia, in three classes:",
        table(sentences),
        "Each claim, by the vote over its five sentences, in four classes:",
        table(claims),
    ]
    named = [(f"Climate-FEVER claims: {label}", figure) for label, figure in claims[:2]]
    goals = (
        goal(sentences[3][1], "Climate-FEVER sentences: macro-F1"),
        goal(claims[3][1], "Climate-FEVER claims: macro-F1"),
    )
    return Part("\n\n".join(text), tuple(named), goals)


def averitec_part(reader: Engine) -> Part:
    given = list(averitec_claims())
    rows = stance_rows(of_claims(given, [reader.read(claim) for claim in given]), "claims")
    text = [
        "## AVeriTeC: verdicts from given evidence",
        "The annotators' questions and answers are the evidence; four classes:",
        table(rows),
    ]
    named = tuple((f"AVeriTeC: {label}", each) for label, each in rows[:2])
    goals = (
        goal(rows[3][1], "AVeriTeC: macro-F1"),
        goal(rows[2][1], "AVeriTeC: precision of refutations", least=0.70),
    )
    return Part("\n\n".join(text), named, goals)


PARTS: tuple[tuple[str, Callable[[Engine], Part]], ...] = (
    ("recorded_web", videos_part),
    ("recorded_web", recorded_part),
    ("climate_fever", climate_part),
    ("averitec", averitec_part),
)
"""The data folder of each part, and the part, in the order of the page."""


def main() -> None:
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
    opening = fill(" ".join(_TEXT.splitlines()[2:]), 100)
    title = _TEXT.splitlines()[0]
    headline = table([row for part in parts for row in part.headline])
    asked = goals_text([row for part in parts for row in part.goals])
    page = "\n\n".join([title, opening, headline, asked, *(part.text for part in parts)]) + "\n"
    if write and parts:
        PAGE.write_text(page, encoding="utf-8")
    print(page, end="")


if __name__ == "__main__":
    main()
