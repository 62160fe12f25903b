"""`factible serve`: the HTTP service over this data folder.

What belongs here: arguments of the command. What does not: the service (http_service/).
"""

from __future__ import annotations

from typing import Annotated

import typer

from factible_assets.cli.output import AsJson, note, print_json


def serve(
    host: Annotated[
        str, typer.Option(help="The address to listen on; beyond loopback a token is needed.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port to listen on; 0 takes a free one.")
    ] = 8000,
    as_json: AsJson = False,
) -> None:
    """Serve fact-checks over HTTP: launch them, follow them live, read what was found.

    Listening beyond this machine needs FACTIBLE_SERVE_TOKEN. Ctrl-C cancels the runs and ends it.

    Example: factible serve --port 8080
    """
    from factible_assets.cli.errors import CliError
    from factible_assets.errors import ExitCode
    from factible_assets.http_service.app import create_app
    from factible_assets.http_service.server import ListenError, open_door, serve_app
    from factible_assets.settings import load_settings

    settings = load_settings()
    try:
        door = open_door(host, port)
    except ListenError as error:
        raise CliError(str(error), code=ExitCode.ENVIRONMENT) from error
    with door.sock:
        # Refuses to go without the token that it needs, before anything is made.
        app = create_app(settings, address=door.address, name=host)
        settings.ensure_home()
        url = door.url(host)
        if as_json:
            print_json({"url": url, "openapi": f"{url}/openapi.json"})
        note(f"The service answers on {url}; {url}/openapi.json describes it. Ctrl-C ends it.")
        serve_app(app, door)
    note("The service has ended.")
