"""`factible serve` and `factible dev`: the HTTP service, and the Dagster UI, over this data folder.

What belongs here: arguments of the commands. What does not: the service (http_service/), starting
Dagster (runs/launch.py).
"""

from __future__ import annotations

from typing import Annotated

from typer import Option

from factible_assets.cli.output import note, output_mode, print_json
from factible_assets.settings import load_settings
from factible_assets.wording import web_address


def serve(
    host: Annotated[
        str, Option(help="The address to listen on; beyond loopback a token is needed.")
    ] = "127.0.0.1",
    port: Annotated[int, Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 8000,
) -> None:
    """Serve the desk, where people check and review, and the HTTP API for programs.

    Listening beyond this machine needs FACTIBLE_SERVE_TOKEN. Ctrl-C cancels the runs and ends it.

    Example: factible serve --port 8080
    """
    from factible_assets.web.app import create_app, open_door, serve_app

    settings = load_settings()
    door = open_door(host, port)
    with door:
        address, bound = door.getsockname()[:2]
        # Refuses to go without the token that it needs, before anything is made.
        app = create_app(settings, address=address, name=host)
        settings.ensure_home()
        url = web_address(host, bound)
        if output_mode.json:
            print_json({"url": url, "openapi": f"{url}/openapi.json"})
        note(f"The desk is at {url}; {url}/docs describes the API. Ctrl-C ends it.")
        serve_app(app, door)
    note("The service has ended.")


def dev(
    host: Annotated[str, Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, Option(min=1, max=65535, help="The port to listen on.")] = 3000,
) -> None:
    """Serve the Dagster UI, with the daemon that runs sensors and schedules.

    It answers pages of its own alone, under the names of this machine. Listening beyond it needs
    FACTIBLE_SERVE_TOKEN, which browsers then ask for as a password.

    Example: factible dev --port 3001
    """
    from factible_assets.runs.launch import serve_ui
    from factible_assets.web.app import open_door
    from factible_assets.web.dagster_ui import admission

    settings = load_settings()
    open_door(host, port).close()  # Dagster would say it later, and less plainly.
    admission(settings, host)  # What is wrong with a token is said before anything starts.
    settings.ensure_home()
    url = web_address(host, port)
    note(
        f"The Dagster UI will answer on {url}, in some seconds if the machine is free, and the "
        f"desk on {url}/desk. Errors are told here; Ctrl-C ends both."
    )
    serve_ui(settings, host=host, port=port)
