"""Arguments that several commands share: the options of a run, corpora, and shell completion."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import typer

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
Output = Annotated[
    Path | None, typer.Option("--output", "-o", dir_okay=False, help="Write to this file.")
]
Live = Annotated[bool, typer.Option("--live", help="Read the live warehouse, not the copy.")]

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


def with_run_options(command: Command) -> Command:
    """Replace the parameter `**options` of a command by every option of a run.

    An option that the user does not give is None.
    """
    return _with_options(command, run_options().values())


def without_claim_options(command: Command) -> Command:
    """Like with_run_options, for commands that do not extract claims and need no options for it."""
    return _with_options(command, (o for o in run_options().values() if o.section != "claims"))


def _with_options(command: Command, options: Iterable[RunOption]) -> Command:
    signature, kind = inspect.signature(command, eval_str=True), inspect.Parameter.KEYWORD_ONLY
    kept = [
        parameter
        for parameter in signature.parameters.values()
        if parameter.kind is not parameter.VAR_KEYWORD
    ]
    added = [
        inspect.Parameter(option.name, kind, default=None, annotation=_declared(option))
        for option in options
    ]
    vars(command)["__signature__"] = signature.replace(parameters=[*kept, *added])  # Typer reads it
    return command


def _declared(option: RunOption) -> Any:
    """Return an option of a run as Typer's annotation."""
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
    heading = _HEADINGS.get(option.section, option.section.capitalize())
    declared = typer.Option(
        _flag(option.name),
        help=words,
        metavar=form,
        rich_help_panel=heading,
        hidden=option.name not in COMMON,
    )
    return Annotated[_TYPES.get(schema.get("type", ""), str) | None, declared]


def _flag(option: str) -> str:
    return f"--{option.replace('_', '-')}"


def checked_config(options: Mapping[str, object]) -> FactCheckConfig:
    """Return the configuration of a run; options that are None keep their defaults.

    Raises UsageError: A value is out of range. The sentence names the option.
    """
    try:
        return config_of({name: value for name, value in options.items() if value is not None})
    except OptionError as error:
        value = options.get(error.option)
        words = f"{_flag(error.option)} {value!r} cannot be used: {error.reason}."
        raise UsageError(words, "--help-all describes the options.") from error


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
