"""A video whose searches never get an answer."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SLOW_VIDEO = "lighthouse-talk"

_CORPUS = f"""
corpus: slow
videos:
  - id: {SLOW_VIDEO}
    title: A talk on a lighthouse
    language: en
    transcript: talk.vtt
    web: live
"""
_TALK = """WEBVTT

00:00:01.000 --> 00:00:06.000
The lighthouse of Port Example was built in 1871 and is 42 metres high.

00:00:06.000 --> 00:00:12.000
In 1986 the lighthouse was automated, and 90 percent of the keepers left the coast.
"""


def list_slow_video(home: Path) -> None:
    """List the video in a data folder."""
    folder = home / "corpora"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "slow.yaml").write_text(_CORPUS, encoding="utf-8")
    (folder / "talk.vtt").write_text(_TALK, encoding="utf-8")


@contextmanager
def nobody_answers(called: threading.Event | None = None) -> Iterator[str]:
    """Yield the address of a server that accepts every connection and says nothing.

    `called` is set with the first connection.
    """
    with socket.create_server(("127.0.0.1", 0)) as server:
        open_connections: list[socket.socket] = []

        def accept() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    open_connections.append(connection)
                    if called is not None:
                        called.set()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}"
        finally:
            with suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)
            thread.join()
            for connection in open_connections:
                connection.close()
