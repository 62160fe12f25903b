"""The warehouse's exceptions: each message names the file and the remedy, and quotes no row.

WarehouseError
├── WarehouseBusyError          another process or thread holds the file
├── WarehouseTooNewError        a newer version of this project, or of DuckDB, wrote it
├── WarehouseTooOldError        an older version of this project wrote it
├── NotAWarehouseError          another file, or a damaged one
├── WarehouseNotWritableError   the operating system refuses access
├── NoRoomError                 the disk is full
├── LakeError                   the server or the files of a lake cannot be used
│   └── LakeBusyError           another attempt may succeed
└── WarehouseIntegrityError     a row breaks a rule
"""

from __future__ import annotations

from pathlib import Path


class WarehouseError(Exception):
    pass


class WarehouseBusyError(WarehouseError):
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
    def __init__(self, path: Path, *, found: str, supported: str) -> None:
        super().__init__(
            f"The warehouse {path} has {found}, and this installation knows only {supported}. "
            "Install the newer version that wrote it, or point to another file."
        )


class WarehouseTooOldError(WarehouseError):
    def __init__(self, path: Path, *, found: int, wanted: int) -> None:
        super().__init__(
            f"The warehouse {path} has schema version {found}, and this installation needs "
            f"version {wanted}. Run: factible upgrade. It copies all rows and keeps the old file."
        )


class NotAWarehouseError(WarehouseError):
    def __init__(self, path: Path, what: str) -> None:
        super().__init__(
            f"{path} is no warehouse, or no longer: {what}. If it is the warehouse, put the "
            "published copy back in its place with: factible restore, which keeps the damaged file "
            "beside it. If it is the published copy, move it away: the next check makes a new one. "
            "Otherwise point to another path."
        )


class WarehouseNotWritableError(WarehouseError):
    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            f"The warehouse {path} cannot be opened for writing ({why}). Make the directory "
            f"{path.parent} and the file writable for this user, or point to another path."
        )


class LakeError(WarehouseError):
    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"The lake {path} cannot be used: {why.rstrip('.?')}.")


class LakeBusyError(LakeError):
    """Another writer was faster, or the server restarts."""


class NoRoomError(WarehouseError):
    def __init__(self, path: Path) -> None:
        super().__init__(
            f"There is no room left to write {path}; its earlier content is whole. Make room on "
            f"the disk of {path.parent}, then run the same command again."
        )


class WarehouseIntegrityError(WarehouseError):
    """A row breaks a rule of the warehouse. Nothing of its transaction was written."""
