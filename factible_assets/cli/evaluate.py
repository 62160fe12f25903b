"""`factible evaluate`: how good results are, in figures.

What belongs here: arguments, the figures of what the warehouse holds. What does not: metrics
(evaluation/), recomputed publications (benchmarks/reproduction).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from factible_assets.cli.errors import CliError
from factible_assets.cli.output import AsJson, note, print_json, stdout
from factible_assets.errors import ExitCode
from factible_assets.wording import plain

if TYPE_CHECKING:
    from factible_assets.evaluation.matching import ClaimMatcher, Similarity, SimilarityName
    from factible_assets.evaluation.scoring import Evaluation

MatcherName = Literal["embeddings", "tf-idf", "token-set", "recorded"]

_RESAMPLES = 2000


def evaluate(
    *,
    published: Annotated[
        Path | None,
        typer.Option(
            "--published",
            metavar="DIR",
            help="Recompute a published evaluation instead: the folder with eval_results/, runs/ "
            "and ground_truth/.",
        ),
    ] = None,
    corpus: Annotated[
        list[str] | None,
        typer.Option("--corpus", metavar="NAME", help="Only this corpus; may be repeated."),
    ] = None,
    matcher: Annotated[
        MatcherName,
        typer.Option(
            "--matcher",
            help="How claims are matched: by MiniLM's cosine above .70, or by their words, which "
            "flatters; recorded takes the matches of --published.",
        ),
    ] = "embeddings",
    model: Annotated[
        Path | None,
        typer.Option(
            "--model",
            metavar="PATH",
            help="A sentence-embedding model: a folder with model.safetensors or model.onnx, or an "
            "ONNX file beside its tokenizer.json.",
        ),
    ] = None,
    resamples: Annotated[
        int,
        typer.Option("--resamples", min=100, max=100_000, help="Draws of videos per interval."),
    ] = _RESAMPLES,
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
    as_json: AsJson = False,
) -> None:
    """Measure how good the newest answers are: a dozen main figures, or with --all every metric.

    Each with its interval and baseline.

    What the warehouse holds is compared with the annotated claims of the corpora. A metric that is
    undefined says so; it is never zero. The asset `evaluation` stores the same figures.

    Example: factible evaluate --corpus everyday-beliefs

    Example: factible evaluate --published ../shared/data/factible
    """
    if model is not None and matcher != "embeddings":
        raise CliError(
            f"A model is of no use to the matcher {matcher}.",
            "Leave out --matcher or --model.",
            ExitCode.USAGE,
        )
    if published is not None:
        if corpus:
            raise CliError(
                "A published evaluation has no corpora.", "Leave out --corpus.", ExitCode.USAGE
            )
        printing = _from_source("printing")
        similarity = None if matcher == "recorded" else _similarity(matcher, model)
        printing.reproduce(published, similarity, details=details, as_json=as_json)
        return
    evaluations = _evaluations(corpus or [], matcher, model, resamples)
    if as_json:
        from factible_assets.evaluation.tables import document

        print_json({"corpora": {name: document(each) for name, each in evaluations.items()}})
        return
    for name, evaluation in evaluations.items():
        _print(name, evaluation, every=every, details=details)


def _similarity(matcher: SimilarityName, model: Path | None) -> Similarity:
    from factible_assets.evaluation.matching import EmbeddingSimilarity, chosen_similarity

    if model is not None:
        folder = model.parent if model.name == "model.safetensors" else model
        # Of a folder with both, the safetensors count: an ONNX export may be of any precision.
        if (folder / "model.safetensors").is_file():
            return EmbeddingSimilarity(_from_source("full_precision").FullPrecisionEmbedder(folder))
    return chosen_similarity(matcher, model)


def _from_source(module: str) -> Any:
    """Return what recomputes publications: part of the source, and not of an installed package."""
    from importlib import import_module

    try:
        return import_module(f"benchmarks.reproduction.{module}")
    except ModuleNotFoundError as missing:
        if not (missing.name or "").startswith("benchmarks"):
            raise
        raise CliError(
            "Published evaluations, and models in full precision, are part of the project's "
            "source, in benchmarks/reproduction, and not of the installed package.",
            "Get the source, run make demo in its folder, and use its .venv/bin/factible.",
            ExitCode.ENVIRONMENT,
        ) from missing


def _evaluations(
    corpora: list[str], matcher: MatcherName, model: Path | None, resamples: int
) -> dict[str, Evaluation]:
    from factible_assets.corpora import load_corpora
    from factible_assets.evaluation.scoring import evaluate_corpora
    from factible_assets.settings import load_settings
    from warehouse.store import Warehouse

    settings = load_settings()
    if not settings.warehouse.exists():
        raise CliError(
            "Nothing was checked yet, so there is nothing to evaluate.",
            "Check a video first: factible demo, or factible check VIDEO.",
        )
    reading = load_corpora(settings.corpus_folders)
    for problem in reading.problems:
        note(f"problem: {plain(str(problem))}")
    return evaluate_corpora(
        Warehouse(settings.warehouse),
        reading,
        _matcher(matcher, model),
        corpora=corpora,
        bootstrap=resamples,
    )


def _matcher(name: MatcherName, model: Path | None) -> ClaimMatcher:
    from factible_assets.evaluation.matching import ClaimMatcher

    if name == "recorded":
        raise CliError(
            "Only published evaluations have recorded matches.",
            "Choose another matcher, or add --published DIR.",
            ExitCode.USAGE,
        )
    if name != "embeddings":
        note(
            f"The matcher {name} inflates precision, recall and MAP: it matches claims that share "
            "words and say different things. Where MiniLM finds a precision of .73, it says "
            f"{_FLATTERED[name]} (18 annotated videos, the same claims)."
        )
    return ClaimMatcher(_similarity(name, model))


def _print(name: str, evaluation: Evaluation, *, every: bool, details: bool) -> None:
    from rich.table import Table

    from factible_assets.evaluation.tables import HEADINGS, basis, figure_row, headlines

    table = Table(title=f"Corpus {plain(name)}", title_justify="left")
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading in _WORDS else "right")
    for figure in evaluation.figures if every else headlines(evaluation):
        table.add_row(*(plain(cell) for cell in figure_row(figure)))
    stdout().print(table)
    typer.echo(basis(evaluation))
    if not every:
        note(f"These are the main figures of {len(evaluation.figures)}; --all prints every one.")
    if evaluation.annotated == 0:
        note(
            "No video of this corpus is annotated: metrics that compare with annotations stay "
            "undefined. Add claims to its file; see corpora/README.md."
        )
    if details:
        _print_videos(evaluation)


_FLATTERED = {"tf-idf": ".87", "token-set": ".86"}
"""Precision at 5 by the matchers of words, where MiniLM's cosine above .70 says .733."""

_WORDS = frozenset({"metric", "averaging", "unit"})


def _print_videos(evaluation: Evaluation) -> None:
    from rich.table import Table

    from factible_assets.evaluation.tables import number

    table = Table(title="Video by video", title_justify="left")
    table.add_column("metric")
    for video_id in evaluation.per_video:
        table.add_column(plain(video_id), justify="right")
    columns = list(evaluation.per_video.values())
    for figures in zip(*columns, strict=True):
        table.add_row(figures[0].name, *(number(figure.value) for figure in figures))
    stdout().print(table)
