"""`factible demo`: the demo video, end to end, without a key or a network.

What belongs here: arguments of the command. What does not: the demo's video and web (corpora/).
"""

from __future__ import annotations

import typer

from factible_assets.cli.errors import CliError
from factible_assets.cli.output import AsJson, note
from factible_assets.errors import ExitCode

_VIDEO_ID = "everyday-beliefs-talk"
_CLAIMS = 12
"""Enough that true, false, mixed and unsettled claims of the talk are among them."""


def demo(as_json: AsJson = False) -> None:
    """Fact-check the demo video end to end; needs no key and no network.

    A talk on everyday beliefs is checked against the miniature web that comes with the project.

    Example: factible demo
    """
    from factible_assets.cli.checking import check_and_report, show
    from factible_assets.cli.targets import read_corpora
    from factible_assets.config import ClaimsConfig, FactCheckConfig, SearchConfig
    from factible_assets.settings import load_settings

    settings = load_settings()
    if read_corpora(settings).find(_VIDEO_ID) is None:
        raise CliError(
            f"The demo's video is not listed in {settings.project_corpora}.",
            "Install factible-assets again.",
            ExitCode.ENVIRONMENT,
        )
    config = FactCheckConfig(
        claims=ClaimsConfig(max_claims=_CLAIMS),
        search=SearchConfig(web="miniature"),
        reasoner="embedded",
    )
    note("The demo reads a miniature web that comes with the project; no request leaves here.")
    checked = check_and_report(_VIDEO_ID, settings=settings, config=config)
    show(checked, as_json=as_json)
    raise typer.Exit(checked.code)
