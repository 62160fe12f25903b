"""`factible serve`, `dev` and `mcp`: servers that run until the user stops them."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from factible_assets.cli.output import note, output_mode, print_json
from factible_assets.errors import ExitCode, FactibleError
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
    from factible_assets.web.app import create_app
    from factible_assets.web.server import bind_socket, serve_app

    settings = load_settings()
    listening = bind_socket(host, port)
    with listening:
        address, bound = listening.getsockname()[:2]
        # Before the data folder exists: it raises an error if the address needs a token.
        app = create_app(settings, address=address, name=host)
        settings.ensure_home()
        url = web_address(host, bound)
        if output_mode.json:
            print_json({"url": url, "openapi": f"{url}/openapi.json"})
        note(f"The desk is at {url}; {url}/docs describes the API. Ctrl-C stops it.")
        serve_app(app, listening)
    note("The service has ended.")


def mcp() -> None:
    """Serve results, checks and SQL to an assistant, over the Model Context Protocol.

    The assistant starts this command and speaks to it on stdin and stdout. Checks have the budgets
    and quotas of the HTTP service.

    Example: factible mcp
    """
    try:
        from factible_assets.web.assistants import serve_stdio
    except ModuleNotFoundError as error:
        if error.name not in {"mcp", "mcp_types"}:
            raise
        raise FactibleError(
            "The Python package mcp is not installed.",
            "Install it: pip install 'mcp>=2.3,<3', or factible-assets with the extra [mcp].",
            ExitCode.ENVIRONMENT,
        ) from error
    serve_stdio(load_settings())


def dev(
    host: Annotated[str, Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, Option(min=1, max=65535, help="The port to listen on.")] = 3000,
) -> None:
    """Serve the Dagster UI, with the daemon for sensors and schedules.

    An address beyond this machine needs FACTIBLE_SERVE_TOKEN; browsers ask for it as a password.

    Example: factible dev --port 3001
    """
    from factible_assets.runs.instance import serve_ui
    from factible_assets.web.dagster_ui import ui_policy
    from factible_assets.web.server import bind_socket

    settings = load_settings()
    bind_socket(host, port).close()  # Dagster would report a busy port later
    ui_policy(settings, host)  # raises an error about the token
    settings.ensure_home()
    url = web_address(host, port)
    note(
        f"The Dagster UI will answer on {url} in some seconds, and the desk on {url}/desk. Errors "
        "appear here. Ctrl-C stops both."
    )
    serve_ui(settings, host=host, port=port)
