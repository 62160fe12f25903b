"""`factible dev`: the Dagster UI and daemon over this data folder.

What belongs here: arguments of the command. What does not: starting Dagster (launch.py).
"""

from __future__ import annotations

from typing import Annotated

import typer

from factible_assets.cli.output import note


def dev(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port to listen on.")] = 3000,
) -> None:
    """Serve the Dagster UI, with the daemon that runs sensors and schedules.

    Example: factible dev --port 3001
    """
    from factible_assets.launch import serve_ui
    from factible_assets.settings import load_settings

    settings = load_settings()
    settings.ensure_home()
    note(f"The Dagster UI will answer on http://{host}:{port}; Ctrl-C ends it.")
    serve_ui(settings, host=host, port=port)
