"""`factible serve` and `factible dev`: the desk with the HTTP API, and the Dagster UI."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from factible_assets.cli.output import note, output_mode, print_json
from factible_assets.settings import load_settings
from factible_assets.wording import web_address


def serve(
    host: Annotated[
        str, Option(help="The address to listen on; beyond loopback it needs a token.")
    ] = "127.0.0.1",
    port: Annotated[int, Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 8000,
) -> None:
    """Serve the desk for fact-checkers, and the HTTP API for programs.

    An address beyond this machine needs FACTIBLE_SERVE_TOKEN. Ctrl-C cancels the runs and stops.

    Example: factible serve --port 8080
    """
    from factible_assets.web.app import create_app, open_door, serve_app

    settings = load_settings()
    door = open_door(host, port)
    with door:
        address, bound = door.getsockname()[:2]
        # Before the data folder exists: it raises an error if the address needs a token.
        app = create_app(settings, address=address, name=host)
        settings.ensure_home()
        url = web_address(host, bound)
        if output_mode.json:
            print_json({"url": url, "openapi": f"{url}/openapi.json"})
        note(f"The desk is at {url}; {url}/docs describes the API. Ctrl-C stops it.")
        serve_app(app, door)
    note("The service has ended.")


def dev(
    host: Annotated[str, Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, Option(min=1, max=65535, help="The port to listen on.")] = 3000,
) -> None:
    """Serve the Dagster UI, with the daemon for sensors and schedules.

    An address beyond this machine needs FACTIBLE_SERVE_TOKEN; browsers ask for it as a password.

    Example: factible dev --port 3001
    """
    from factible_assets.runs.launch import serve_ui
    from factible_assets.web.app import open_door
    from factible_assets.web.dagster_ui import admission

    settings = load_settings()
    open_door(host, port).close()  # Dagster would report a busy port later
    admission(settings, host)  # raises an error about the token
    settings.ensure_home()
    url = web_address(host, port)
    note(
        f"The Dagster UI will answer on {url} in some seconds, and the desk on {url}/desk. Errors "
        "appear here. Ctrl-C stops both."
    )
    serve_ui(settings, host=host, port=port)
