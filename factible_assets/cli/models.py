"""`factible models`: open models on this machine, fetched only when a person asks for them.

What belongs here: arguments, the question before a download, progress, the list. What does not:
fetching and keeping (resources/models), using (reasoners/embedded).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import typer

from factible_assets.cli.errors import EXIT_CODES, CliError
from factible_assets.cli.output import AsJson, note, print_json, print_table, stderr
from factible_assets.errors import ExitCode
from factible_assets.wording import plain

if TYPE_CHECKING:
    from pathlib import Path

    from factible_assets.settings import Settings
    from resources.models.base import ManifestModel, Receipt
    from resources.models.hub import Offer
    from resources.models.store import Progress

app = typer.Typer(
    name="models",
    no_args_is_help=True,
    help="Open models on this machine. Nothing is fetched without being asked for.",
)

Name = Literal["mpnet", "nli", "nli-base"]
NAMES: tuple[Name, ...] = get_args(Name)

_Which = Annotated[Name, typer.Argument(help="Which model.", metavar="mpnet|nli|nli-base")]


@app.command("pull", epilog=EXIT_CODES)
def pull(
    name: _Which,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before fetching.")] = False,
    as_json: AsJson = False,
) -> None:
    """Fetch a model from its hub, after showing its licence and size.

    Every file is checked against its digest. A pull that stopped goes on where it was.

    Example: factible models pull mpnet
    """
    import asyncio

    from factible_assets.settings import load_settings
    from resources.models.base import known_models

    settings = load_settings()
    model = known_models()[name]
    receipt = asyncio.run(_pull(settings, model, yes=yes))
    if receipt is None:
        note("Nothing was fetched.")
        raise typer.Exit(ExitCode.FAILED)
    if as_json:
        print_json(_as_json(settings, model, receipt))
        return
    typer.echo(f"{model.title} is in {settings.home / 'models' / name}")


@app.command("list", epilog=EXIT_CODES)
def list_(as_json: AsJson = False) -> None:
    """Show which models are there, where, under which licence, and what is used without them.

    Example: factible models list
    """
    from factible_assets.settings import load_settings
    from resources.models.base import known_models, read_receipt

    settings = load_settings()
    rows = [
        _as_json(settings, known_models()[name], read_receipt(settings.home, name))
        for name in NAMES
    ]
    if as_json:
        print_json(rows)
        return
    shown = ("name", "title", "licence", "state", "in_use")
    print_table(
        ("name", "model", "licence", "state", "in use"),
        ([plain(str(row[field])) for field in shown] for row in rows),
    )


@app.command("remove", epilog=EXIT_CODES)
def remove(name: _Which, as_json: AsJson = False) -> None:
    """Remove a model that was pulled, and what is left of a pull that stopped.

    Example: factible models remove nli
    """
    from factible_assets.settings import load_settings
    from resources.models.store import ModelStore

    settings = load_settings()
    removed = ModelStore(settings.home).remove(name)
    if as_json:
        print_json({"name": name, "removed": removed})
        return
    typer.echo(f"{name} was removed." if removed else f"{name} is not there.")


# --- Pulling ------------------------------------------------------------------------------------


async def _pull(settings: Settings, model: ManifestModel, *, yes: bool) -> Receipt | None:
    from resources.models.hub import Hub
    from resources.models.store import ModelStore

    async with Hub(settings.model_hub) as hub:
        offer = await hub.ask_offer(model)
        _show(offer, settings)
        if not yes and not _agreed():
            return None
        settings.ensure_home()
        with _progress(offer) as progress:
            return await ModelStore(settings.home).pull(hub, offer, progress)


def _show(offer: Offer, settings: Settings) -> None:
    model = offer.model
    note(f"{model.title}: {model.purpose}")
    note(f"  licence  {model.licence}")
    note(f"  source   {model.source}")
    note(f"  from     {settings.model_hub} {model.repo} at {plain(offer.commit)}")
    note(f"  size     {offer.size / 1e6:,.1f} MB in {len(offer.files)} files")


def _agreed() -> bool:
    if not sys.stdin.isatty():
        raise CliError(
            "Nobody can be asked whether to fetch this.", "Add --yes to fetch it.", ExitCode.USAGE
        )
    return typer.confirm("Fetch it?", err=True)


@contextmanager
def _progress(offer: Offer) -> Iterator[Progress | None]:
    console = stderr()
    if not console.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TransferSpeedColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
    )
    with Bar(*columns, console=console, transient=True) as bar:
        tasks = {file.save_as: bar.add_task(file.save_as, total=file.bytes) for file in offer.files}

        def moved(name: str, done: int, total: int) -> None:
            bar.update(tasks[name], completed=done, total=total)

        yield moved


# --- The list -----------------------------------------------------------------------------------


def _as_json(
    settings: Settings, model: ManifestModel, receipt: Receipt | None
) -> dict[str, object]:
    folder = settings.home / "models" / model.name
    return {
        "name": model.name,
        "title": model.title,
        "purpose": model.purpose,
        "licence": model.licence,
        "source": model.source,
        "pulled": receipt is not None,
        "path": str(folder) if receipt is not None else None,
        "bytes": receipt.size if receipt is not None else None,
        "commit": receipt.commit if receipt is not None else None,
        "state": f"{receipt.size / 1e6:,.1f} MB in {folder}" if receipt else "not pulled",
        "in_use": _in_use(settings.home, model.name),
    }


def _in_use(home: Path, name: str) -> str:
    """Say whether a model reads pages; of several that were pulled the best does."""
    from factible_assets.services.embedded import stance_model_in_use

    in_use = stance_model_in_use(home)
    if name == in_use:
        return "reads pages"
    return f"not used: {in_use or 'MiniLM, as installed,'} reads pages"
