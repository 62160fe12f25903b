"""A real PostgreSQL server of a test's own, on loopback, with a password, and lakes on it."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import duckdb
import pytest

from warehouse.lake import SCHEME, Lake
from warehouse.lake_address import extension

PASSWORD = "not to be / shown'"


@dataclass
class Server:
    folder: Path
    port: int

    def control(self, *words: str) -> None:
        options = f"-p {self.port} -k {self.folder} -h 127.0.0.1"
        log = str(self.folder / "log")
        command = [
            "pg_ctl",
            "-D",
            str(self.folder / "data"),
            "-w",
            "-o",
            options,
            "-l",
            log,
            *words,
        ]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, user=_unprivileged())

    def location(self, name: str) -> str:
        password = PASSWORD.replace("'", r"\'")
        words = f"host=127.0.0.1 port={self.port} user=postgres password='{password}'"
        return f"ducklake:postgres:{words} dbname={name}"

    def lake(self, name: str, data: str | Path) -> Lake:
        """Make a database, and return the lake that is to be in it."""
        with duckdb.connect(config={"allow_unsigned_extensions": "true"}) as connection:
            connection.execute(f"LOAD '{extension('postgres_scanner')}'")
            words = self.location("postgres").removeprefix(SCHEME).replace("'", "''")
            connection.execute(f"ATTACH '{words}' AS server (TYPE postgres)")
            connection.execute(
                f"CALL postgres_execute('server', 'CREATE DATABASE {name}', use_transaction=false)"
            )
        return Lake.of(self.location(name), data)


@contextmanager
def server() -> Iterator[Server]:
    """Start a server; skip the test where there is none to start."""
    missing = [
        name
        for name in ("duckdb_extension_ducklake", "duckdb_extension_postgres_scanner")
        if find_spec(name) is None
    ]
    if missing or not (shutil.which("initdb") and shutil.which("pg_ctl")):
        pytest.skip("A lake needs PostgreSQL (initdb, pg_ctl) and the extra `lake`.")
    folder = Path(tempfile.mkdtemp(prefix="lake", dir="/tmp"))
    try:
        (folder / "password").write_text(PASSWORD)
        if owner := _unprivileged():
            for each in (folder, folder / "password"):
                shutil.chown(each, owner)
        command = ["initdb", "-D", str(folder / "data"), "-U", "postgres", "-A", "scram-sha-256"]
        command += ["--no-sync", f"--pwfile={folder / 'password'}"]
        subprocess.run(command, check=True, capture_output=True, user=_unprivileged())
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        started = Server(folder, port)
        started.control("start")
        try:
            yield started
        finally:
            started.control("-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _unprivileged() -> str | None:
    """Return who runs the server where the tests run as root, whom PostgreSQL refuses."""
    if os.getuid() != 0:
        return None
    for name in ("postgres", "pguser", "nobody"):
        with suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    pytest.skip("PostgreSQL refuses to run as root, and there is nobody else here.")
