"""The commands that serve, and the ones for this machine: doctor, cache, models, retention."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from rich.progress import BarColumn, DownloadColumn, TextColumn, TransferSpeedColumn
from rich.text import Text
from typer import Argument, Exit, Option, Typer, confirm

from factible_assets.cli.output import (
    Columns,
    grid,
    note,
    output_mode,
    print_json,
    progress_bar,
    result,
    show_rows,
)
from factible_assets.errors import ExitCode, FactibleError, UsageError
from factible_assets.services.labels import calibrate, reading_model
from factible_assets.services.reasoning import pulled_reader
from factible_assets.services.transcripts import speech_model
from factible_assets.settings import Settings, load_settings
from factible_assets.wording import counted, in_bytes, plain, web_address
from resources.models.base import ManifestModel, Receipt, known_models, read_receipt
from resources.models.hub import HUGGING_FACE, Hub, add_model, pull_model, remove_model
from resources.storage.answers import DiskCache
from resources.transcripts.recording import MODELS
from warehouse.lake import Lake
from warehouse.store import Warehouse
from warehouse.upkeep import holds_all_of, move_into, restore_copy
from warehouse.upkeep import upgrade as upgrade_warehouse

cache_app = Typer()
models_app = Typer()
migrate_app = Typer()


def doctor(
    *,
    network: Annotated[
        bool, Option("--network", help="Test YouTube and a domain registry too, without a key.")
    ] = False,
) -> None:
    """Test every service that is set up with one cheap request, and say how to set up the others.

    No service is required. The exit code is 1 if a service that is set up does not answer. The
    command never shows keys.

    Example: factible doctor
    """
    from factible_assets.services.checkup import examine

    findings = asyncio.run(examine(load_settings(), network=network))
    columns: Columns = (
        *("service", "state"),
        (
            "finding and remedy",
            lambda each: Text(
                "\n".join(plain(said) for said in (each.sentence, each.remedy) if said)
            ),
        ),
    )
    show_rows(findings, columns, lines=True)
    broken = [each.service for each in findings if each.state == "fails"]
    if broken:
        note(f"Set up but not working: {', '.join(broken)}.")
        raise Exit(ExitCode.FAILED)
    note("Every service that is set up works.")


def serve(
    host: Annotated[
        str, Option(help="The address to listen on; beyond loopback it needs a token.")
    ] = "127.0.0.1",
    port: Annotated[int, Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 8000,
) -> None:
    """Serve the desk for fact-checkers, and the HTTP API for programs.

    An address beyond this machine needs FACTIBLE_SERVE_TOKEN. Ctrl-C cancels the runs and stops.

    Example: factible serve --port 8080
    """
    from factible_assets.web.app import bind_socket, create_app, serve_app

    settings = load_settings()
    listening = bind_socket(host, port)
    with listening:
        address, bound = listening.getsockname()[:2]
        # Before the data folder exists: it raises an error if the address needs a token.
        app = create_app(settings, address=address, name=host)
        settings.ensure_home()
        url = web_address(host, bound)
        if output_mode.json:
            print_json({"url": url, "openapi": f"{url}/openapi.json"})
        note(f"The desk is at {url}; {url}/docs describes the API. Ctrl-C stops it.")
        serve_app(app, listening)
    note("The service has ended.")


def mcp() -> None:
    """Serve results, checks and SQL to an assistant, over the Model Context Protocol.

    The assistant starts this command and speaks to it on stdin and stdout. Checks have the budgets
    and quotas of the HTTP service.

    Example: factible mcp
    """
    try:
        from factible_assets.web.assistants import serve_stdio
    except ModuleNotFoundError as error:
        if error.name not in {"mcp", "mcp_types"}:
            raise
        raise FactibleError(
            "The Python package mcp is not installed.",
            "Install it: pip install 'mcp>=2.3,<3', or factible-assets with the extra [mcp].",
            ExitCode.ENVIRONMENT,
        ) from error
    serve_stdio(load_settings())


def dev(
    host: Annotated[str, Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, Option(min=1, max=65535, help="The port to listen on.")] = 3000,
) -> None:
    """Serve the Dagster UI, with the daemon for sensors and schedules.

    An address beyond this machine needs FACTIBLE_SERVE_TOKEN; browsers ask for it as a password.

    Example: factible dev --port 3001
    """
    from factible_assets.runs.instance import serve_ui
    from factible_assets.web.app import bind_socket
    from factible_assets.web.dagster_ui import ui_policy

    settings = load_settings()
    bind_socket(host, port).close()  # Dagster would report a busy port later
    ui_policy(settings, host)  # raises an error about the token
    settings.ensure_home()
    url = web_address(host, port)
    note(
        f"The Dagster UI will answer on {url} in some seconds, and the desk on {url}/desk. Errors "
        "appear here. Ctrl-C stops both."
    )
    serve_ui(settings, host=host, port=port)


@cache_app.command("info")
def cache_info() -> None:
    """Show the cached answers, their size and their lifetime.

    Example: factible cache info
    """
    settings = load_settings()
    cache = DiskCache(settings.cache, settings.cache_policy)
    documents: list[dict[str, Any]] = [
        {
            **asdict(kind),
            "oldest_use": datetime.fromtimestamp(kind.oldest_use, UTC) if kind.oldest_use else None,
            "days": getattr(cache.policy, kind.kind).total_seconds() / 86_400,
        }
        for kind in cache.info()
    ]
    columns: Columns = (
        *("kind", "answers: entries"),
        ("size", lambda each: in_bytes(each["bytes"])),
        ("at most", lambda each: in_bytes(each["max_bytes"])),
        ("lifetime", lambda each: counted(round(each["days"]), "day")),
        "oldest use: oldest_use",
    )
    show_rows(documents, columns, title=str(settings.cache))


@cache_app.command("clear")
def cache_clear(
    kind: Annotated[
        Literal["search", "pages", "models", "ages", "vectors"] | None,
        Option("--kind", help="Clear only this kind."),
    ] = None,
) -> None:
    """Delete cached answers. A later check asks again, and pays again.

    Example: factible cache clear --kind search
    """
    settings = load_settings()
    cleared = DiskCache(settings.cache, settings.cache_policy).clear(kind)
    if cleared is None:
        raise FactibleError(
            f"The cache {settings.cache} could not be cleared.",
            "Check its permissions, and close other programs that use it.",
            ExitCode.ENVIRONMENT,
        )
    result(cleared, *(f"{name}: {counted(n, 'answer')} deleted" for name, n in cleared.items()))


Model = Literal["nli", "reader", "reader-large", "whisper", "whisper-en"]

_FIELDS_SHOWN = ("name", "title", "purpose", "licence", "source")

_Which = Annotated[Model, Argument(help="Which model.", metavar="MODEL")]


@models_app.command("pull")
def models_pull(
    name: _Which, yes: Annotated[bool, Option("--yes", "-y", help="Fetch without asking.")] = False
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


@models_app.command("add")
def models_add(
    name: _Which,
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
    names = [Path(each.path).name for each in model.files]
    inside = ([path / each for each in names] if path.is_dir() else [path] for path in files)
    receipt = add_model(settings.home, model, [file for each in inside for file in each])
    _print_model(settings, model, receipt)


def _print_model(settings: Settings, model: ManifestModel, receipt: Receipt) -> None:
    place = settings.home / "models" / model.name
    result(_document(settings, model, receipt), f"{model.title} is in {place}")


@models_app.command("list")
def models_list() -> None:
    """List the models with their place, licence and use.

    Example: factible models list
    """
    settings = load_settings()
    rows = [
        _document(settings, known_models()[name], read_receipt(settings.home, name))
        for name in get_args(Model)
    ]
    show_rows(rows, ("name", "model: title", "licence", "state", "in_use"))


@models_app.command("remove")
def models_remove(name: _Which) -> None:
    """Remove a pulled model, or the rest of an interrupted pull.

    Example: factible models remove nli
    """
    removed = remove_model(load_settings().home, name)
    said = f"Removed {name}." if removed else f"There is no {name}."
    result({"name": name, "removed": removed}, said)


@models_app.command("calibrate")
def models_calibrate(
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
    with progress_bar() as bar:
        task = bar.add_task(f"Asking {plain(model.name)}", total=None)

        def told(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        fitted, path = asyncio.run(calibrate(settings, model, cache, told))
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
                each.save_as: bar.add_task(each.save_as, total=each.bytes) for each in model.files
            }

            def progress(file: str, done: int, total: int) -> None:
                bar.update(tasks[file], completed=done, total=total)

            return await pull_model(settings.home, hub, model, progress)


def _document(
    settings: Settings, model: ManifestModel, receipt: Receipt | None
) -> dict[str, object]:
    folder = settings.home / "models" / model.name
    return {
        **{each: getattr(model, each) for each in _FIELDS_SHOWN},
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


def restore() -> None:
    """Replace a damaged or lost warehouse by its published copy.

    The command deletes nothing: the replaced file stays beside the new one. A readable warehouse
    with everything that the copy holds stays as it is.

    Example: factible restore
    """
    settings = load_settings()
    path, copy = settings.warehouse.path, settings.published.path
    if settings.warehouse.is_shared:
        raise FactibleError(
            f"The warehouse is a lake ({path}), which has no published copy.",
            "Restore the backups of its PostgreSQL database and of its files.",
        )
    if not copy.exists():
        raise FactibleError(
            f"There is no published copy at {copy} to restore from.",
            "Put a backup of the warehouse there and run the command again.",
        )
    if path.exists() and holds_all_of(path, copy):
        raise UsageError(
            f"There is nothing to restore: {path} is readable and has everything that {copy} has.",
            "To replace it anyway, move it away first.",
        )
    aside = restore_copy(copy, path)
    videos = len(Warehouse(path).video_ids())
    result(
        {"warehouse": path, "videos": videos, "replaced": aside},
        f"{path} is the published copy again, with {counted(videos, 'video')}.",
        *([f"The replaced file is now {aside}."] if aside else []),
    )


def retention(*, dry_run: Annotated[bool, Option("--dry-run", help="Only count.")] = False) -> None:
    """Remove old page texts that no current verdict uses, cached answers, and records of runs.

    Verdicts, evidence and quotes stay. FACTIBLE_RETENTION_DAYS sets the age; Dagster's records of
    runs, and cached answers without use, go after 90 days at the latest.

    Example: factible retention --dry-run
    """
    from factible_assets.pipeline.retention import apply_retention
    from factible_assets.runs.instance import open_instance

    settings = load_settings()
    with open_instance(settings) as instance:
        removed = apply_retention(settings, instance, now=datetime.now(UTC), dry_run=dry_run)
    what = "would be removed" if dry_run else "removed"
    lines = [
        f"page texts {what}: {removed.texts:,} ({removed.characters:,} characters)",
        f"records of runs {what}: {removed.runs:,}",
    ]
    if not dry_run:
        lines.append(f"cached answers removed: {sum(removed.answers.values()):,}")
        lines.append(f"the warehouse is {removed.bytes_freed:,} bytes smaller")
    result(removed, *lines)


def upgrade() -> None:
    """Copy the warehouse, and those of experiments, into the schema of this version.

    The old files are kept beside the new ones. Every table is compared with its copy. Files of
    cached answers that this version does not read are deleted.

    Example: factible upgrade
    """
    settings = load_settings()
    stores = [Warehouse(settings.warehouse)] if settings.warehouse.exists() else []
    stores += map(Warehouse, sorted((settings.home / "experiments").glob("*.duckdb")))
    done = []
    for store in stores:
        note(f"{store.path}")
        kept = upgrade_warehouse(
            store, lambda each: note(f"  {each.table}: {counted(each.rows, 'row')}, verified")
        )
        done.append({"warehouse": store.path, "kept": kept})
    if settings.warehouse.exists():
        stores[0].publish(settings.published)
    if not done:
        note(f"There is no warehouse at {settings.warehouse} yet, so there is nothing to upgrade.")
    DiskCache(settings.cache).delete_former_files()
    result(
        done,
        *(f"{each['warehouse']} has the schema of this version." for each in done),
        *(f"The old file is kept as {each['kept']}." for each in done if each["kept"]),
    )


@migrate_app.command("home")
def migrate_home(
    target: Annotated[
        str | None, Argument(help="The lake, as ducklake:postgres:… (default: FACTIBLE_WAREHOUSE).")
    ] = None,
) -> None:
    """Copy the warehouse of this data folder into an empty lake; the file stays.

    The lake's files go to FACTIBLE_LAKE_DATA, or to lake/ in the data folder. The command compares
    the row counts and row hashes of every table, and copies all tables or none. Archive, cache,
    reports and Dagster's records stay in the data folder.

    Example: factible migrate home ducklake:postgres:dbname=factible
    """
    settings = load_settings()
    path = settings.home / "warehouse.duckdb"
    if not path.exists():
        raise FactibleError(
            f"There is no warehouse at {path}.", "Set FACTIBLE_HOME to another data folder."
        )
    place = settings.lake_data or settings.home / "lake"
    lake = settings.warehouse if target is None else Lake.of(target, place)
    if not isinstance(lake, Lake):
        raise FactibleError("Name a lake: factible migrate home ducklake:postgres:…")
    moved = move_into(
        path, lake, lambda each: note(f"{each.table}: {counted(each.rows, 'row')}, verified")
    )
    rows = sum(each.rows for each in moved)
    result(
        {"lake": str(lake), "data": lake.data, "tables": moved},
        f"{lake} has {counted(rows, 'row')} of {counted(len(moved), 'table')}, all verified.",
        f"{path} stays as it is. To use the lake, set:",
        f"FACTIBLE_WAREHOUSE={lake}\nFACTIBLE_LAKE_DATA={lake.data}",
        *(["Put a password into PGPASSWORD or ~/.pgpass."] if "postgres" in str(lake) else []),
    )
