"""`factible cache`: what is kept between runs, and forgetting it.

What belongs here: arguments and the table. What does not: the cache itself (resources/cache).
"""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from factible_assets.cli.errors import EXIT_CODES
from factible_assets.cli.output import AsJson, print_json, stdout
from factible_assets.wording import plain

if TYPE_CHECKING:
    from resources.cache import CachePolicy, DiskCache, KindInfo

app = typer.Typer(
    name="cache",
    no_args_is_help=True,
    help="Answers kept between runs: searches, pages, model calls, ages of domains.",
)

_KiB = 1024


@app.command("info", epilog=EXIT_CODES)
def info(as_json: AsJson = False) -> None:
    """Show what is kept, how much room it takes, and how long it counts.

    Example: factible cache info
    """
    cache = _open()
    kinds = cache.info()
    cache.close()
    if as_json:
        print_json([_as_json(kind, cache.policy) for kind in kinds])
        return
    from rich.table import Table

    table = Table(title=plain(str(kinds[0].path.parent)), title_justify="left")
    table.add_column("kind")
    table.add_column("answers", justify="right")
    table.add_column("on disk", justify="right")
    table.add_column("at most", justify="right")
    table.add_column("counts for", justify="right")
    table.add_column("oldest use", justify="right")
    for kind in kinds:
        table.add_row(
            kind.kind,
            f"{kind.entries:,}",
            in_bytes(kind.bytes_on_disk),
            in_bytes(kind.max_bytes),
            f"{_days(kind, cache.policy):g} days",
            "–" if kind.oldest_use is None else _moment(kind.oldest_use).strftime("%Y-%m-%d %H:%M"),
        )
    stdout().print(table)


@app.command("clear", epilog=EXIT_CODES)
def clear(
    kind: Annotated[
        Literal["search", "pages", "models", "ages"] | None,
        typer.Option("--kind", help="Forget only this kind."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Forget what is kept. It is asked for again, and paid for again, when it is needed.

    Example: factible cache clear --kind search
    """
    cache = _open()
    cleared = cache.clear(kind)
    cache.close()
    if as_json:
        print_json(cleared)
        return
    for name, number in cleared.items():
        typer.echo(f"{name}: {number:,} {'answer' if number == 1 else 'answers'} forgotten")


def in_bytes(size: float) -> str:
    """Say a size in the unit that suits it."""
    for unit in ("B", "KiB", "MiB"):
        if size < _KiB:
            return f"{size:,.0f} {unit}"
        size /= _KiB
    return f"{size:,.1f} GiB"


def _open() -> DiskCache:
    from factible_assets.settings import load_settings
    from resources.cache import DiskCache

    settings = load_settings()
    return DiskCache(settings.cache, settings.cache_policy)


def _as_json(kind: KindInfo, policy: CachePolicy) -> dict[str, object]:
    oldest = None if kind.oldest_use is None else _moment(kind.oldest_use)
    return {**asdict(kind), "oldest_use": oldest, "days": _days(kind, policy)}


def _days(kind: KindInfo, policy: CachePolicy) -> float:
    return {
        "search": policy.search,
        "pages": policy.pages,
        "models": policy.models,
        "ages": policy.ages,
    }[kind.kind].total_seconds() / 86_400


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
