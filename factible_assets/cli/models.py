"""`factible models`: fetch, list, remove and calibrate open models on this machine."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated, Literal, get_args

from rich.progress import BarColumn, DownloadColumn, TextColumn, TransferSpeedColumn
from typer import Argument, Exit, Option, Typer, confirm

from factible_assets.cli.output import counting, grid, note, progress_bar, result, show_rows
from factible_assets.errors import ExitCode, UsageError
from factible_assets.services.labels import calibrate as fit
from factible_assets.services.labels import reading_model
from factible_assets.services.reasoning import pulled_reader
from factible_assets.services.transcripts import speech_model
from factible_assets.settings import Settings, load_settings
from factible_assets.wording import counted, plain
from resources.models.base import ManifestModel, Receipt, known_models, read_receipt
from resources.models.hub import HUGGING_FACE, Hub, add_model, pull_model, remove_model
from resources.storage.answers import DiskCache
from resources.transcripts.recording import MODELS

app = Typer()

Model = Literal["nli", "reader", "reader-large", "whisper", "whisper-en"]

_FIELDS_SHOWN = ("name", "title", "purpose", "licence", "source")

_Name = Annotated[Model, Argument(help="The model.", metavar="MODEL")]


@app.command("pull")
def pull(
    name: _Name, yes: Annotated[bool, Option("--yes", "-y", help="Fetch without asking.")] = False
) -> None:
    """Show a model's licence and size, then fetch it from its hub.

    The command verifies the digest of every file. It resumes an interrupted pull.

    Example: factible models pull nli
    """
    settings, model = load_settings(), known_models()[name]
    receipt = asyncio.run(_pull(settings, model, yes=yes))
    if receipt is None:
        note("Nothing was fetched.")
        raise Exit(ExitCode.FAILED)
    _print_model(settings, model, receipt)


@app.command("add")
def add(
    name: _Name,
    files: Annotated[
        list[Path], Argument(help="The model's files on this machine, or their folder.")
    ],
) -> None:
    """Install a model from files on this machine, for machines without internet.

    The command copies the files. Each must have the model's known SHA-256.

    Example: factible models add reader qwen2.5-coder-1.5b-instruct-q4_k_m.gguf
    """
    settings, model = load_settings(), known_models()[name]
    settings.ensure_home()
    note(f"{model.title}: licence {model.licence}, from {model.source}")
    names = [Path(part.path).name for part in model.files]
    candidates = ([path / name for name in names] if path.is_dir() else [path] for path in files)
    receipt = add_model(settings.home, model, [file for paths in candidates for file in paths])
    _print_model(settings, model, receipt)


def _print_model(settings: Settings, model: ManifestModel, receipt: Receipt) -> None:
    place = settings.home / "models" / model.name
    result(_document(settings, model, receipt), f"{model.title} is in {place}")


@app.command("list")
def list_() -> None:
    """List the models with their place, licence and use.

    Example: factible models list
    """
    settings = load_settings()
    rows = [
        _document(settings, known_models()[name], read_receipt(settings.home, name))
        for name in get_args(Model)
    ]
    show_rows(rows, ("name", "model: title", "licence", "state", "in_use"))


@app.command("remove")
def remove(name: _Name) -> None:
    """Remove a pulled model, or the rest of an interrupted pull.

    Example: factible models remove nli
    """
    removed = remove_model(load_settings().home, name)
    words = f"Removed {name}." if removed else f"The model {name} is not on this machine."
    result({"name": name, "removed": removed}, words)


@app.command("calibrate")
def calibrate(
    name: Annotated[
        str | None,
        Argument(help="A pulled model, or PROVIDER/MODEL (default: the reader of pages)."),
    ] = None,
) -> None:
    """Calibrate a model's label probabilities on the project's labelled pairs.

    The command asks the model about some 300 pairs of a claim and a source, one token each: about
    six minutes on two idle cores. The figures come from five-fold cross-validation. An
    uncalibrated model never exceeds low confidence.

    Example: factible models calibrate ollama/qwen3:4b
    """
    settings = load_settings()
    if name is not None:
        settings = settings.model_copy(update={"stage_models": {"reader": name}})
    model = reading_model(settings)
    if model is None:
        raise UsageError(
            "No model that reads by labels is set up.",
            "Fetch one with `factible models pull reader`, or name one, such as ollama/qwen3:4b.",
        )
    settings.ensure_home()
    cache = DiskCache(settings.cache, settings.cache_policy)
    with counting(f"Asking {model.name}") as progress:
        fitted, path = asyncio.run(fit(settings, model, cache, progress))
    figures = fitted.figures
    rows = [
        ("supports against refutes, AUC", figures.auc),
        ("takes a side or not, AUC", figures.bearing_auc),
        ("share of pairs decided", figures.decided),
        ("share of those correct", figures.precision),
        ("expected calibration error", figures.ece),
    ]
    result(
        {**fitted.model_dump(mode="json"), "path": str(path)},
        f"{plain(model.name)} is calibrated on {fitted.pairs} pairs ({fitted.data}).",
        grid((name, f"{value:.2f}") for name, value in rows),
        f"Stored in {path}",
    )


async def _pull(settings: Settings, model: ManifestModel, *, yes: bool) -> Receipt | None:
    address = settings.endpoints.get("hugging_face", HUGGING_FACE)
    async with Hub(address) as hub:
        note(f"{model.title}: {model.purpose}")
        note(f"  licence  {model.licence}")
        note(f"  source   {model.source}")
        note(f"  from     {address} {model.repo} at {model.revision}")
        note(f"  size     {model.size / 1e6:,.1f} MB in {counted(len(model.files), 'file')}")
        if not yes and not sys.stdin.isatty():
            raise UsageError("No terminal is there to confirm the download.", "Add --yes.")
        if not yes and not confirm("Fetch it?", err=True):
            return None
        settings.ensure_home()
        name = TextColumn("{task.description}")
        with progress_bar(name, BarColumn(), DownloadColumn(), TransferSpeedColumn()) as bar:
            tasks = {
                part.save_as: bar.add_task(part.save_as, total=part.bytes) for part in model.files
            }

            def progress(file: str, done: int, total: int) -> None:
                bar.update(tasks[file], completed=done, total=total)

            return await pull_model(settings.home, hub, model, progress)


def _document(
    settings: Settings, model: ManifestModel, receipt: Receipt | None
) -> dict[str, object]:
    folder = settings.home / "models" / model.name
    return {
        **{field: getattr(model, field) for field in _FIELDS_SHOWN},
        "pulled": receipt is not None,
        "path": str(folder) if receipt else None,
        "bytes": model.size if receipt else None,
        "commit": receipt.commit if receipt else None,
        "state": f"{model.size / 1e6:,.1f} MB in {folder}" if receipt else "not pulled",
        "in_use": _use(settings, model.name),
    }


def _use(settings: Settings, name: str) -> str:
    """Return the job of a model, or the model that does this job instead."""
    if name in MODELS:
        speech = speech_model(settings)
        job, used, otherwise = "recognises speech", speech.name if speech else None, "no model"
    else:
        job, used, otherwise = "reads pages", pulled_reader(settings), "the plain reader"
    return job if name == used else f"not used: {used or otherwise} {job}"
