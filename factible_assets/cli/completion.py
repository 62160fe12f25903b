"""`factible completion`: what a shell needs to complete commands, options and video ids.

What belongs here: the script for a shell, and which words complete an argument. What does not: the
words of commands and options, which the command tree knows.
"""

from __future__ import annotations

from typing import Annotated, Literal

from typer import Argument, echo


def completion(
    shell: Annotated[
        Literal["bash", "zsh", "fish"], Argument(help="The shell.", metavar="bash|zsh|fish")
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
    echo(script)


def video_ids(incomplete: str) -> list[str]:
    """Return the listed videos that begin with what was typed; nothing where none can be read."""
    from factible_assets.corpora.reading import load_corpora
    from factible_assets.settings import SettingsError, load_settings

    try:
        reading = load_corpora(load_settings().corpus_folders)
    except (SettingsError, OSError):
        return []
    known = (listed.video.video_id for listed in reading.videos())
    return sorted(video_id for video_id in known if video_id.startswith(incomplete))
