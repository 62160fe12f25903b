"""What can go wrong between the pipeline and its warehouse, one type per remedy.

What belongs here: the warehouse's exceptions, each with a sentence that names the file and says
what to do. What does not: deciding when to raise them. No message contains the content of a row.
"""

from __future__ import annotations

from pathlib import Path


class WarehouseError(Exception):
    """The base of everything that the warehouse raises on purpose."""


class WarehouseBusyError(WarehouseError):
    """Another process or thread held the warehouse for longer than this process waits."""

    _OF_A_FILE = (
        "Close the program that has it open (a DuckDB shell, a notebook), or let readers open the "
        "published copy instead of the live file."
    )

    def __init__(
        self, path: Path, *, waited_seconds: float, holder: str | None, remedy: str = _OF_A_FILE
    ) -> None:
        by = holder or "another process"
        super().__init__(
            f"The warehouse {path} is in use by {by}, and still was after "
            f"{waited_seconds:.1f} seconds. {remedy}"
        )


class WarehouseTooNewError(WarehouseError):
    """The file was written by a newer version of this project, or of DuckDB."""

    def __init__(self, path: Path, *, found: str, supported: str) -> None:
        super().__init__(
            f"The warehouse {path} has {found}, and this installation knows only {supported}. "
            "Install the newer version that wrote it, or point to another file."
        )


class WarehouseTooOldError(WarehouseError):
    """An older version of this project wrote the store."""

    def __init__(self, path: Path, *, found: int, wanted: int) -> None:
        super().__init__(
            f"The warehouse {path} has schema version {found}, and this installation needs "
            f"version {wanted}. Run: factible upgrade. It carries all rows over and keeps the old "
            "file."
        )


class NotAWarehouseError(WarehouseError):
    """The file is something else, or a warehouse of which parts cannot be read any more."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(
            f"{path} is no warehouse, or no longer: {what}. If it is the warehouse, put the "
            "published copy back in its place with: factible restore, which keeps the damaged file "
            "beside it. If it is that copy, move it away: the next check makes it anew. Point to "
            "another path otherwise."
        )


class WarehouseNotWritableError(WarehouseError):
    """The operating system does not let this user create, open or change the file."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            f"The warehouse {path} cannot be opened for writing ({why}). Make the directory "
            f"{path.parent} and the file writable for this user, or point to another path."
        )


class LakeError(WarehouseError):
    """The catalogue or the files of a lake cannot be reached or used."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"The lake {path} cannot be used: {why.rstrip('.')}.")


class LakeBusyError(LakeError):
    """Another writer was faster, or the server restarts: another attempt may come through."""


class NoRoomError(WarehouseError):
    """The disk, a quota or a limit leaves no room for what is to be written."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"There is no room left to write {path}; what was there before is whole. Make room on "
            f"the disk of {path.parent}, then run the same command again."
        )


class WarehouseIntegrityError(WarehouseError):
    """Rows that break a rule of the warehouse. Nothing of their transaction was kept."""


class NotMaterializedError(WarehouseError):
    """An asset is to be read that has never been materialized for this video."""

    def __init__(self, asset: str, video_id: str) -> None:
        super().__init__(
            f"Video {video_id} has no materialized {asset}: materialize `{asset}` for it first."
        )
