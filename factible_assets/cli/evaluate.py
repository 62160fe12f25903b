"""`factible evaluate`: how good results are, in figures.

What belongs here: arguments, the figures of what the warehouse holds. What does not: metrics
(evaluation/), recomputed publications (benchmarks/reproduction).
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from factible_assets.cli.output import note, result, table, wishes
from factible_assets.corpora import load_corpora
from factible_assets.errors import ExitCode, FactibleError
from factible_assets.evaluation.matching import (
    ClaimMatcher,
    EmbeddingSimilarity,
    Similarity,
    SimilarityName,
    chosen_similarity,
)
from factible_assets.evaluation.scoring import Evaluation, evaluate_corpora
from factible_assets.evaluation.tables import (
    HEADINGS,
    basis,
    document,
    figure_row,
    headlines,
    number,
)
from factible_assets.running.targets import open_store
from factible_assets.settings import load_settings
from factible_assets.wording import plain

_FLATTERED = {"tf-idf": ".87", "token-set": ".86"}
"""Precision at 5 by the matchers of words, where MiniLM's cosine above .70 says .733."""


def evaluate(
    *,
    published: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Recompute a published evaluation instead: the folder with eval_results/, runs/ "
            "and ground_truth/.",
        ),
    ] = None,
    corpus: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this corpus; may be repeated."),
    ] = None,
    matcher: Annotated[
        Literal["embeddings", "tf-idf", "token-set", "recorded"],
        typer.Option(
            help="How claims are matched: by MiniLM's cosine above .70, or by their words, which "
            "flatters; recorded takes the matches of --published.",
        ),
    ] = "embeddings",
    model: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="A sentence-embedding model: a folder with model.safetensors or model.onnx, or an "
            "ONNX file beside its tokenizer.json.",
        ),
    ] = None,
    resamples: Annotated[
        int, typer.Option(min=100, max=100_000, help="Draws of videos per interval.")
    ] = 2000,
    every: Annotated[
        bool, typer.Option("--all", help="Print every metric, not the dozen main figures alone.")
    ] = False,
    details: Annotated[
        bool,
        typer.Option(
            "--details",
            help="Also each video's figures; with --published every value, not only those that "
            "differ.",
        ),
    ] = False,
) -> None:
    """Measure how good the newest answers are: a dozen main figures, or with --all every metric.

    Each with its interval and baseline.

    What the warehouse holds is compared with the annotated claims of the corpora. A metric that is
    undefined says so; it is never zero. The asset `evaluation` stores the same figures.

    Example: factible evaluate --corpus everyday-beliefs

    Example: factible evaluate --published ../shared/data/factible
    """
    if model is not None and matcher != "embeddings":
        raise FactibleError(
            f"A model is of no use to the matcher {matcher}.",
            "Leave out --matcher or --model.",
            ExitCode.USAGE,
        )
    if published is not None:
        if corpus:
            raise FactibleError(
                "A published evaluation has no corpora.", "Leave out --corpus.", ExitCode.USAGE
            )
        printing = _from_source("printing")
        similarity = None if matcher == "recorded" else _similarity(matcher, model)
        printing.reproduce(published, similarity, details=details, as_json=wishes.json)
        return
    if matcher == "recorded":
        raise FactibleError(
            "Only published evaluations have recorded matches.",
            "Choose another matcher, or add --published DIR.",
            ExitCode.USAGE,
        )
    settings = load_settings()
    store, reading = open_store(settings), load_corpora(settings.corpus_folders)
    for problem in reading.problems:
        note(f"problem: {plain(str(problem))}")
    if matcher in _FLATTERED:
        note(
            f"The matcher {matcher} inflates precision, recall and MAP: it matches claims that "
            "share words and say different things. Where MiniLM finds a precision of .73, it says "
            f"{_FLATTERED[matcher]} (18 annotated videos, the same claims)."
        )
    by = ClaimMatcher(_similarity(matcher, model))
    found = evaluate_corpora(store, reading, by, corpora=corpus or [], bootstrap=resamples)
    if wishes.json:
        result({"corpora": {name: document(each) for name, each in found.items()}})
        return
    for name, evaluation in found.items():
        _show(name, evaluation, every=every, details=details)


def _similarity(matcher: SimilarityName, model: Path | None) -> Similarity:
    if model is not None:
        folder = model.parent if model.name == "model.safetensors" else model
        # Of a folder with both, the safetensors count: an ONNX export may be of any precision.
        if (folder / "model.safetensors").is_file():
            return EmbeddingSimilarity(_from_source("full_precision").FullPrecisionEmbedder(folder))
    return chosen_similarity(matcher, model)


def _from_source(module: str) -> Any:
    """Return what recomputes publications: part of the source, and not of an installed package."""
    try:
        return import_module(f"benchmarks.reproduction.{module}")
    except ModuleNotFoundError as missing:
        if not (missing.name or "").startswith("benchmarks"):
            raise
        raise FactibleError(
            "Published evaluations, and models in full precision, are part of the project's "
            "source, in benchmarks/reproduction, and not of the installed package.",
            "Get the source, run make demo in its folder, and use its .venv/bin/factible.",
            ExitCode.ENVIRONMENT,
        ) from missing


def _show(name: str, evaluation: Evaluation, *, every: bool, details: bool) -> None:
    figures = evaluation.figures if every else headlines(evaluation)
    rows = ([plain(cell) for cell in figure_row(figure)] for figure in figures)
    numbers = {*HEADINGS} - {"metric", "averaging", "unit"}
    title = f"Corpus {plain(name)}"
    result(None, table(HEADINGS, rows, title=title, numbers=numbers), basis(evaluation))
    if not every:
        note(f"These are the main figures of {len(evaluation.figures)}; --all prints every one.")
    if evaluation.annotated == 0:
        note(
            "No video of this corpus is annotated: metrics that compare with annotations stay "
            "undefined. Add claims to its file; see corpora/README.md."
        )
    if details:
        videos = [plain(video_id) for video_id in evaluation.per_video]
        rows = (
            [figures[0].name, *(number(figure.value) for figure in figures)]
            for figures in zip(*evaluation.per_video.values(), strict=True)
        )
        result(None, table(("metric", *videos), rows, title="Video by video", numbers=videos))
