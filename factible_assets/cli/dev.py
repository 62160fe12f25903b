"""`factible dev`: the Dagster UI and daemon over this data folder.

What belongs here: arguments of the command. What does not: starting Dagster (launch.py).
"""

from __future__ import annotations

from typing import Annotated

import typer

from factible_assets.cli.errors import CliError
from factible_assets.cli.output import note
from factible_assets.errors import ExitCode

_HIGHEST_PORT = 65_535


def dev(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port to listen on.")] = 3000,
) -> None:
    """Serve the Dagster UI, with the daemon that runs sensors and schedules.

    It answers pages of its own alone, under the names of this machine. Listening beyond it needs
    FACTIBLE_SERVE_TOKEN, which browsers then ask for as a password.

    Example: factible dev --port 3001
    """
    from factible_assets.settings import load_settings

    refuse_taken_port(host, port, "factible dev")
    from factible_assets.http_service.dagster_ui import admission
    from factible_assets.running.launch import serve_ui

    settings = load_settings()
    admission(settings, host)  # What is wrong with a token is said before anything starts.
    settings.ensure_home()
    note(f"The Dagster UI will answer on http://{host}:{port}; Ctrl-C ends it.")
    serve_ui(settings, host=host, port=port)


def refuse_taken_port(host: str, port: int, command: str) -> None:
    """See whether somebody could listen on an address.

    Raises:
        CliError: Another program listens there, or this machine has no such address.
    """
    import errno
    import socket

    try:
        with socket.create_server((host, port)):
            return
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            free = f"{command} --port {port + 1 if port < _HIGHEST_PORT else 3000}"
            raise CliError(
                f"Port {port} of {host} is in use by another program.",
                f"End that one, or choose another port: {free}",
                ExitCode.ENVIRONMENT,
            ) from error
        raise CliError(
            # Python repeats the address in brackets.
            f"Nothing can listen on {host}: {str(error.strerror or error).split(' (')[0]}.",
            "Choose another --host or --port.",
            ExitCode.ENVIRONMENT,
        ) from error
