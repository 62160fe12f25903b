"""`factible models`: open models on this machine, fetched only when a person asks for them.

What belongs here: arguments, the question before a download, progress, the list. What does not:
fetching and keeping (resources/models), using (reasoners/embedded).
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Literal, get_args

from typer import Argument, Exit, Option, Typer, confirm

from factible_assets.cli.output import note, result, stderr, table
from factible_assets.errors import ExitCode, FactibleError
from factible_assets.settings import Settings, load_settings
from factible_assets.wording import plain
from resources.models.base import ManifestModel, Receipt, known_models, read_receipt
from resources.models.hub import Hub, ModelStore, Offer, Progress

app = Typer()

Name = Literal["mpnet", "nli", "nli-base"]

_Which = Annotated[Name, Argument(help="Which model.", metavar="mpnet|nli|nli-base")]


@app.command("pull")
def pull(
    name: _Which,
    yes: Annotated[bool, Option("--yes", "-y", help="Do not ask before fetching.")] = False,
) -> None:
    """Fetch a model from its hub, after showing its licence and size.

    Every file is checked against its digest. A pull that stopped goes on where it was.

    Example: factible models pull mpnet
    """
    settings = load_settings()
    model = known_models()[name]
    receipt = asyncio.run(_pull(settings, model, yes=yes))
    if receipt is None:
        note("Nothing was fetched.")
        raise Exit(ExitCode.FAILED)
    place = settings.home / "models" / name
    result(_document(settings, model, receipt), f"{model.title} is in {place}")


@app.command("list")
def list_() -> None:
    """Show which models are there, where, under which licence, and what is used without them.

    Example: factible models list
    """
    settings = load_settings()
    rows = [
        _document(settings, known_models()[name], read_receipt(settings.home, name))
        for name in get_args(Name)
    ]
    shown = {"name": "name", "model": "title", "licence": "licence", "state": "state"}
    shown["in use"] = "in_use"
    result(rows, table(shown, ([plain(str(row[each])) for each in shown.values()] for row in rows)))


@app.command("remove")
def remove(name: _Which) -> None:
    """Remove a model that was pulled, and what is left of a pull that stopped.

    Example: factible models remove nli
    """
    removed = ModelStore(load_settings().home).remove(name)
    said = f"{name} was removed." if removed else f"{name} is not there."
    result({"name": name, "removed": removed}, said)


async def _pull(settings: Settings, model: ManifestModel, *, yes: bool) -> Receipt | None:
    async with Hub(settings.model_hub) as hub:
        offer = await hub.ask_offer(model)
        note(f"{model.title}: {model.purpose}")
        note(f"  licence  {model.licence}")
        note(f"  source   {model.source}")
        note(f"  from     {settings.model_hub} {model.repo} at {plain(offer.commit)}")
        note(f"  size     {offer.size / 1e6:,.1f} MB in {len(offer.files)} files")
        if not yes and not sys.stdin.isatty():
            raise FactibleError(
                "Nobody can be asked whether to fetch this.",
                "Add --yes to fetch it.",
                ExitCode.USAGE,
            )
        if not yes and not confirm("Fetch it?", err=True):
            return None
        settings.ensure_home()
        with _progress(offer) as progress:
            return await ModelStore(settings.home).pull(hub, offer, progress)


@contextmanager
def _progress(offer: Offer) -> Iterator[Progress | None]:
    console = stderr()
    if not console.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TransferSpeedColumn
    from rich.progress import Progress as Bar

    name = TextColumn("{task.description}")
    columns = (name, BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Bar(*columns, console=console, transient=True) as bar:
        tasks = {file.save_as: bar.add_task(file.save_as, total=file.bytes) for file in offer.files}
        yield lambda name, done, total: bar.update(tasks[name], completed=done, total=total)


def _document(
    settings: Settings, model: ManifestModel, receipt: Receipt | None
) -> dict[str, object]:
    from factible_assets.services.reasoning import stance_model_in_use

    folder = settings.home / "models" / model.name
    in_use = stance_model_in_use(settings.home)  # of several that were pulled the best
    other = f"not used: {in_use or 'MiniLM, as installed,'} reads pages"
    return {
        "name": model.name,
        "title": model.title,
        "purpose": model.purpose,
        "licence": model.licence,
        "source": model.source,
        "pulled": receipt is not None,
        "path": str(folder) if receipt else None,
        "bytes": receipt.size if receipt else None,
        "commit": receipt.commit if receipt else None,
        "state": f"{receipt.size / 1e6:,.1f} MB in {folder}" if receipt else "not pulled",
        "in_use": "reads pages" if model.name == in_use else other,
    }
