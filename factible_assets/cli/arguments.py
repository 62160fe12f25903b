"""Arguments that several commands share: the options of a run, corpora, and shell completion."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import typer

from factible_assets.cli.main import options_of
from factible_assets.cli.output import note
from factible_assets.config import (
    COMMON,
    FactCheckConfig,
    OptionError,
    RunOption,
    config_of,
    run_options,
)
from factible_assets.corpora.reading import CorporaReading, load_corpora
from factible_assets.errors import UsageError
from factible_assets.settings import Settings, SettingsError, load_settings
from factible_assets.wording import plain

Command = TypeVar("Command", bound=Callable[..., None])

Videos = Annotated[
    list[str] | None, typer.Argument(help="Ids or YouTube URLs of checked videos (default: all).")
]
Corpora = Annotated[
    list[str] | None, typer.Option("--corpus", metavar="NAME", help="Only this corpus; repeatable.")
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file.")]
Live = Annotated[bool, typer.Option("--live", help="Read the live warehouse, not the copy.")]

_GIVEN = "factible.run_options"
_TYPES: dict[str, Any] = {"integer": int, "number": float}
_HEADINGS = {
    **dict.fromkeys(("claims", "queries"), "Claims and queries"),
    "": "Reasoners and strategy",
    "search": "Sources",
    "evidence": "Reading pages",
    "budget": "Limits per claim, for every strategy but standard",
}
"""The headings of the sections of options, where the name of the section is not enough."""
_FORMS = {"date": "YYYY-MM-DD", "boolean": "true|false"}


def with_run_options(command: Command, without: str | None = None) -> Command:
    """Add every option of a run to a command, except those of the section `without`."""
    vars(command)["more_options"] = partial(_options, without)  # main.py reads it
    return command


without_claim_options = partial(with_run_options, without="claims")
"""For commands that keep the claims of an earlier check."""


@cache
def _options(without: str | None) -> tuple[Any, ...]:
    chosen = [each for each in run_options().values() if each.section != without]
    made = options_of({each.name: _declared(each) for each in chosen})
    for option, each in zip(made, chosen, strict=True):
        vars(option)["heading"] = _HEADINGS.get(each.section, each.section.capitalize())
    help_all = typer.Option(
        "--help-all",
        help="Show every option, rare ones too.",
        callback=_print_all_options,
        is_eager=True,
        expose_value=False,
    )
    return (*made, *options_of({"help_all": Annotated[bool, help_all]}))


def _print_all_options(context: typer.Context, value: bool) -> None:
    if value:
        for option in context.command.params:
            option.hidden = False  # type: ignore[attr-defined] # of options, not of arguments
        typer.echo(context.get_help())
        raise typer.Exit


def _declared(option: RunOption) -> Any:
    kinds = option.schema.get("anyOf", [option.schema])
    schema = next(kind for kind in kinds if kind.get("type") != "null")
    kind = schema.get("format") or schema.get("type", "")
    form = "|".join(schema.get("enum", ())) or _FORMS.get(kind)
    words = str(option.schema.get("description", ""))
    if words.endswith(" Write: a, b"):
        form, words = "A,B", words.removesuffix(" Write: a, b")
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        words = f"{words} From {low:,} to {high:,}."
    if option.default is not None and option.default != "":
        written = str(option.default).lower() if kind == "boolean" else option.default
        words = f"{words} Default: {written}."

    def keep(context: typer.Context, value: Any) -> None:
        if value is not None:
            context.meta.setdefault(_GIVEN, {})[option.name] = value

    declared = typer.Option(
        _flag(option.name),
        help=words,
        metavar=form,
        callback=keep,
        expose_value=False,
        hidden=option.name not in COMMON,
    )
    return Annotated[_TYPES.get(schema.get("type", ""), str) | None, declared]


def _flag(option: str) -> str:
    return f"--{option.replace('_', '-')}"


def given_options(context: typer.Context, **others: object) -> dict[str, object]:
    """Return the run's options that the user gave, with `others` that are not None."""
    own = {name: value for name, value in others.items() if value is not None}
    return {**context.meta.get(_GIVEN, {}), **own}


def checked_config(given: dict[str, object], command: str = "check") -> FactCheckConfig:
    """Return the configuration of a run; options that are not given keep their defaults.

    Raises UsageError: A value is out of range. The sentence names the option.
    """
    try:
        return config_of(given)
    except OptionError as error:
        raise UsageError(
            f"{_flag(error.option)} {given.get(error.option)!r} cannot be used: {error.reason}.",
            f"factible {command} --help-all describes the options.",
        ) from error


def read_corpora(settings: Settings) -> CorporaReading:
    """Return the corpora, and print a remark on every problem in their files."""
    reading = load_corpora(settings.corpus_folders)
    for problem in reading.problems:
        note(f"problem: {plain(str(problem))}")
    return reading


# --- Completion in a shell ------------------------------------------------------------------------


def completion(
    shell: Annotated[
        Literal["bash", "zsh", "fish"], typer.Argument(help="The shell.", metavar="bash|zsh|fish")
    ],
) -> None:
    """Print the script that completes commands, options and video ids in a shell.

    Example: factible completion bash >> ~/.bashrc

    For this session only: source <(factible completion zsh)

    For fish: factible completion fish > ~/.config/fish/completions/factible.fish
    """
    # Typer's own `--show-completion` calls it too, though the module does not export it.
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    variable = "_FACTIBLE_COMPLETE"  # main.py looks for it
    script = get_completion_script(prog_name="factible", complete_var=variable, shell=shell)
    if shell == "zsh":
        # The line may stand where zsh has not loaded its completion system yet.
        script = f"autoload -Uz compinit && (( $+functions[compdef] )) || compinit\n{script}"
    typer.echo(script)


def video_ids(incomplete: str) -> list[str]:
    """Return the listed video ids with this beginning; none if the corpora cannot be read."""
    try:
        reading = load_corpora(load_settings().corpus_folders)
    except (SettingsError, OSError):
        return []
    known = (listed.video.video_id for listed in reading.videos())
    return sorted(video_id for video_id in known if video_id.startswith(incomplete))
