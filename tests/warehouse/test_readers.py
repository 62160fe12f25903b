"""A reader that never closes the published copy: neither side waits for the other."""

from __future__ import annotations

import multiprocessing
from multiprocessing.connection import Connection
from pathlib import Path

import duckdb

from tests.warehouse.samples import claim, stamp, write_asset
from warehouse.connection import FileConnector
from warehouse.store import Warehouse

SWAPS = 3


def read_and_never_close(path: Path, wire: Connection) -> None:
    """Open the copy once and answer questions on it until told to end."""
    reader = duckdb.connect(str(path), read_only=True)
    wire.send("open")
    while wire.recv() == "ask":
        wire.send(reader.execute("SELECT count(DISTINCT run_id) FROM claims").fetchall())


def test_a_reader_that_never_closes_keeps_no_publication_waiting(tmp_path: Path) -> None:
    # No patience at all: were the writer refused a lock once, it would raise and not wait.
    store = Warehouse(FileConnector(tmp_path / "warehouse.duckdb", lock_timeout_seconds=0.0))
    published = tmp_path / "published.duckdb"

    def write_and_publish(run: int) -> None:
        write_asset(store, "claims", "v", [claim("v")], stamp=stamp(run), code_version="1")
        store.publish(published)

    write_and_publish(1)
    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe()
    process = context.Process(target=read_and_never_close, args=(published, theirs))
    process.start()
    try:
        assert mine.poll(None)
        assert mine.recv() == "open"
        for run in range(2, SWAPS + 2):
            mine.send("ask")
            write_and_publish(run)
            # Its answer comes while copies are swapped, and stays that of the copy it opened.
            assert mine.poll(None)
            assert mine.recv() == [(1,)]
            with duckdb.connect(str(published), read_only=True) as newcomer:
                found = newcomer.execute("SELECT count(DISTINCT run_id) FROM claims").fetchall()
            assert found == [(run,)]
    finally:
        mine.send("end")
        process.join()
    assert process.exitcode == 0
