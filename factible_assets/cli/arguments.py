"""What several commands take: the run's knobs, each an option by its own name, and listed videos.

What belongs here: making options of knobs, and knobs of options; completing what is typed in a
shell; what cannot be read of the corpora. What does not: which knobs there are, their ranges and
their words (config.py); the words of commands and options, which the command tree knows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Annotated, Any, Literal, TypeVar

import typer

from factible_assets.cli.main import options_of
from factible_assets.cli.output import note
from factible_assets.config import COMMON, FactCheckConfig, Knob, KnobError, config_of, knobs
from factible_assets.corpora.reading import CorporaReading, load_corpora
from factible_assets.errors import UsageError
from factible_assets.settings import Settings, SettingsError, load_settings
from factible_assets.wording import plain

Command = TypeVar("Command", bound=Callable[..., None])

_GIVEN = "factible.knobs"
"""Where the context of a command keeps the knobs that were given."""

_TYPES: dict[str, Any] = {"integer": int, "number": float}
_FORMS = {"date": "YYYY-MM-DD", "boolean": "true|false"}


def takes_knobs(command: Command, without: str | None = None) -> Command:
    """Have main.py give a command every knob of a run that is no option of its own.

    `without` is the section of those that mean nothing to it.
    """
    vars(command)["more_options"] = partial(_options, without)
    return command


keeps_claims = partial(takes_knobs, without="claims")
"""The same for a command that keeps the claims that are there."""


@cache
def _options(without: str | None) -> tuple[Any, ...]:
    wanted = {name: knob for name, knob in knobs().items() if knob.place[0] != without}
    declared = {name.replace(".", "_"): _of(knob) for name, knob in wanted.items()}
    more = typer.Option(
        "--help-all",
        help="Show every option, rare ones too.",
        callback=_help_all,
        is_eager=True,
        expose_value=False,
    )
    return options_of({**declared, "help_all": Annotated[bool, more]})


def _help_all(context: typer.Context, wanted: bool) -> None:
    if wanted:
        for option in context.command.params:
            option.hidden = False  # type: ignore[attr-defined] # of options, not of arguments
        typer.echo(context.get_help())
        raise typer.Exit


def _of(knob: Knob) -> Any:
    kinds = knob.schema.get("anyOf", [knob.schema])
    schema = next(kind for kind in kinds if kind.get("type") != "null")
    kind = schema.get("format") or schema.get("type", "")
    form = "|".join(schema.get("enum", ())) or _FORMS.get(kind)
    words = str(knob.schema.get("description", ""))
    if words.endswith(" Write: a, b"):
        form, words = "A,B", words.removesuffix(" Write: a, b")
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        words = f"{words} From {low:,} to {high:,}."
    if knob.default is not None and knob.default != "":
        written = str(knob.default).lower() if kind == "boolean" else knob.default
        words = f"{words} Default: {written}."

    def keep(context: typer.Context, value: Any) -> None:
        if value is not None:
            context.meta.setdefault(_GIVEN, {})[knob.name] = value

    option = typer.Option(
        _name(knob.name),
        help=words,
        metavar=form,
        callback=keep,
        expose_value=False,
        hidden=knob.name not in COMMON,
    )
    return Annotated[_TYPES.get(schema.get("type", ""), str) | None, option]


def _name(knob: str) -> str:
    return f"--{knob.replace('_', '-').replace('.', '-')}"


def given_knobs(context: typer.Context, **others: object) -> dict[str, object]:
    """Return the knobs that were given, with those that the command's own options are."""
    own = {name: value for name, value in others.items() if value is not None}
    return {**context.meta.get(_GIVEN, {}), **own}


def checked_config(given: dict[str, object], command: str = "check") -> FactCheckConfig:
    """Return the run's knobs; options that were not given keep their defaults.

    Raises UsageError: A value is out of its range; the sentence names the option.
    """
    try:
        return config_of(given)
    except KnobError as error:
        raise UsageError(
            f"{_name(error.knob)} {given.get(error.knob)!r} cannot be used: {error.reason}.",
            f"factible {command} --help describes the options.",
        ) from error


def read_corpora(settings: Settings) -> CorporaReading:
    """Return what the corpora list; what of them cannot be read is noted."""
    reading = load_corpora(settings.corpus_folders)
    for problem in reading.problems:
        note(f"problem: {plain(str(problem))}")
    return reading


# --- In a shell -----------------------------------------------------------------------------------


def completion(
    shell: Annotated[
        Literal["bash", "zsh", "fish"], typer.Argument(help="The shell.", metavar="bash|zsh|fish")
    ],
) -> None:
    """Print the script that completes commands, options and video ids in a shell.

    Example: factible completion bash >> ~/.bashrc

    Once, in the shell of now: source <(factible completion zsh)

    For fish: factible completion fish > ~/.config/fish/completions/factible.fish
    """
    # Typer's own `--show-completion` takes it from there, though it is not listed as exported.
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    variable = "_FACTIBLE_COMPLETE"  # which tells main.py that a shell asks for words
    script = get_completion_script(prog_name="factible", complete_var=variable, shell=shell)
    if shell == "zsh":
        # Its completion system may not be loaded where this line stands.
        script = f"autoload -Uz compinit && (( $+functions[compdef] )) || compinit\n{script}"
    typer.echo(script)


def video_ids(incomplete: str) -> list[str]:
    """Return the listed videos that begin with what was typed; nothing where none can be read."""
    try:
        reading = load_corpora(load_settings().corpus_folders)
    except (SettingsError, OSError):
        return []
    known = (listed.video.video_id for listed in reading.videos())
    return sorted(video_id for video_id in known if video_id.startswith(incomplete))
