"""Opens the Dagster instance of a data folder, and replaces this process by its UI."""

import errno
import hashlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import NoReturn

import dagster as dg
from filelock import FileLock
from sqlalchemy.exc import DatabaseError, OperationalError

from factible_assets.pipeline.locks import end_dead_runs
from factible_assets.pipeline.partitions import videos
from factible_assets.settings import PACKAGE_PARENT, Settings, SettingsError
from factible_assets.wording import web_address
from resources.files import write_whole

_OPENING_SECONDS = 1_800
"""The longest wait for a process that creates the databases: seconds, or minutes on a busy machine.
The end of that process frees the lock."""

_CALL_SECONDS = "1800"
"""How long Dagster's processes wait for answers of each other, such as a sensor's."""

_GRACE_SECONDS = "30"

_WORKSPACE = """\
# `factible dev` writes this file at every start.
load_from:
  - python_module:
      module_name: factible_assets.definitions
      location_name: factible-assets
      working_directory: {folder}
"""

_INSTANCE_TEMPLATE = Path(__file__).with_name("dagster.yaml")

_OWN_FILES = {
    hashlib.sha256(_INSTANCE_TEMPLATE.read_bytes()).hexdigest(),
    # Its predecessors are replaced.
    "a1e1933b7f04f6e052d05009c81f5033ff7e7a4272cda4e6d5988217ddc03977",
    "f14a85d1ad7b50749304f1cde59f65ac9c7d91bdd633d3c01f10f1580c5da1ed",
}
"""Hashes of the instance files that this project writes, which need no permission of the user."""


def prepare_instance(settings: Settings) -> Path:
    """Create the folder of the Dagster instance if it is missing, and return it.

    Raises SettingsError: Its dagster.yaml is no file, or may be a stranger's (Settings.own_file).
    """
    folder = settings.dagster_home
    target = folder / "dagster.yaml"
    if target.is_fifo():  # opening it would wait for a writer forever
        raise SettingsError(
            f"{target} is a named pipe. Move it away; the next start writes a file."
        )
    digest = _digest_of(target) if target.exists() else None
    if digest is not None and digest not in _OWN_FILES:
        settings.own_file("dagster/dagster.yaml")
    elif digest != _digest_of(_INSTANCE_TEMPLATE):
        write_whole(target, _INSTANCE_TEMPLATE.read_bytes())
    return folder


def _digest_of(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def open_instance(settings: Settings) -> dg.DagsterInstance:
    """Open the Dagster instance of a data folder; use it as a context manager.

    A lock lets one process at a time create the databases: two that create them at once leave
    schema versions that no Dagster opens again. Opening also ends the runs whose process is gone,
    so that no caller takes them for running.

    Raises SettingsError: The files of the instance cannot be read or written.
    """
    try:
        folder = prepare_instance(settings)
        opening = FileLock(folder / ".opening.lock", timeout=_OPENING_SECONDS).acquire()
    except OSError as error:
        if error.errno not in {errno.EROFS, errno.EACCES, errno.EPERM}:
            raise
        raise SettingsError(
            f"Dagster's records in {settings.dagster_home} cannot be opened: Dagster writes there "
            f"even to read them ({error.strerror}). Make that folder writable, or set "
            "FACTIBLE_HOME to a copy of the data folder that is."
        ) from error
    with opening:
        try:
            instance = dg.DagsterInstance.from_config(str(folder))
            instance.get_dynamic_partitions(str(videos.name))
            instance.get_run_records(limit=1)
            instance.all_instigator_state()
        except DatabaseError as error:
            if isinstance(error, OperationalError):  # The database is busy or missing.
                raise
            raise SettingsError(
                f"Dagster's records in {folder} are damaged ({error.orig}). Move that folder away: "
                "Dagster starts a new record of runs, and the verdicts are in the warehouse."
            ) from error
        except Exception as error:
            if _digest_of(file := folder / "dagster.yaml") in _OWN_FILES:
                raise
            raise SettingsError(
                f"Dagster cannot start with {file} ({' '.join(str(error).split())}). Correct it, "
                "install the package or start the server that it names, or move it away: the next "
                "start writes a new one."
            ) from error
    if not instance.get_python_log_dagster_handler_config():
        # Even without such handlers Dagster configures Python's logging at the start of each run.
        # It then holds the lock of all logging and waits for the handlers of the other runs in
        # this process, while a run that logs waits for that lock: a deadlock.
        instance.get_yaml_python_handlers = list  # type: ignore[method-assign]
    end_dead_runs(instance)
    return instance


def serve_ui(settings: Settings, *, host: str, port: int) -> NoReturn:
    """Replace this process by the Dagster UI and daemon over this data folder.

    Raises SettingsError: The data folder has files that may be a stranger's (Settings.own_file).
    """
    for name in ("models.yaml", ".env"):
        settings.own_file(name)  # The processes below see a data folder that the environment names.
    environment = {
        **os.environ,
        "DAGSTER_HOME": str(prepare_instance(settings)),
        "FACTIBLE_HOME": str(settings.home),
        # Runs link to the reports and the desk.
        "FACTIBLE_PUBLIC_URL": settings.public_url or web_address(host, port),
        # Python must not import modules from the working folder.
        "PYTHONSAFEPATH": "1",
    }
    for name in ("GRPC", "REPOSITORY_GRPC", "SCHEDULE_GRPC", "SENSOR_GRPC"):
        environment.setdefault(f"DAGSTER_{name}_TIMEOUT_SECONDS", _CALL_SECONDS)
    # By default the shutdown waits for open calls as long as for answers.
    environment.setdefault("DAGSTER_GRPC_SHUTDOWN_GRACE_PERIOD", _GRACE_SECONDS)
    with open_instance(settings):
        pass
    workspace = settings.dagster_home / "workspace.yaml"
    # This replaces a link that a stranger may have put there, and does not follow it.
    write_whole(workspace, _WORKSPACE.format(folder=json.dumps(str(PACKAGE_PARENT))).encode())
    module = "factible_assets.web.dagster_ui"
    where = ["-w", str(workspace), "-h", host, "-p", str(port)]
    # Sensors log several times a minute and would hide the problems.
    command = [sys.executable, "-m", module, "dev", *where, "--log-level", "warning"]
    # In a script's background job SIGINT is ignored, and Dagster would then ignore SIGTERM too.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.execve(sys.executable, command, environment)  # noqa: S606 - no shell is the point
