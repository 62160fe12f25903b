"""Recomputes a published evaluation: `python -m benchmarks.reproduction FOLDER`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from benchmarks.reproduction.full_precision import FullPrecisionEmbedder
from benchmarks.reproduction.printing import reproduce
from factible_assets.cli.output import message_and_code, print_error
from factible_assets.evaluation.matching import Similarity
from factible_assets.reasoners.embedded.embedder import minilm

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def main(
    published: Annotated[
        Path, typer.Argument(help="A folder with eval_results/, runs/ and ground_truth/.")
    ],
    *,
    matcher: Annotated[
        Literal["embeddings", "recorded"], typer.Option(help="The matcher of claims.")
    ] = "embeddings",
    model: Annotated[
        Path | None, typer.Option(help="A full-precision model: a folder with model.safetensors.")
    ] = None,
    details: Annotated[bool, typer.Option("--details", help="Print equal values too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Recompute a published evaluation and compare every value."""
    try:
        embedder = minilm() if model is None else FullPrecisionEmbedder(model)
        similarity = None if matcher == "recorded" else Similarity(embedder)
        reproduce(published, similarity, details=details, as_json=as_json)
    except Exception as error:
        words, code = message_and_code(error)
        print_error(words)
        raise typer.Exit(code) from error


if __name__ == "__main__":
    app()
