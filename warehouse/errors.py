"""What can go wrong between the pipeline and its warehouse, one type per remedy.

What belongs here: the warehouse's exceptions, each with a sentence that names the file and says
what to do. What does not: deciding when to raise them. No message contains the content of a row.
"""

from __future__ import annotations

from pathlib import Path


class WarehouseError(Exception):
    """The base of everything that the warehouse raises on purpose."""


class WarehouseBusyError(WarehouseError):
    """Someone else held the warehouse for longer than this process was willing to wait."""

    def __init__(self, path: Path, *, waited_seconds: float, holder: str | None) -> None:
        by = holder or "another process"
        super().__init__(
            f"The warehouse {path} is in use by {by}, and still was after "
            f"{waited_seconds:.1f} seconds. Close what holds it open (a DuckDB shell, a notebook), "
            "or let readers open the published copy instead of the live file."
        )
        self.path = path
        self.holder = holder


class WarehouseTooNewError(WarehouseError):
    """The file was written by a newer version of this project, or of DuckDB."""

    def __init__(self, path: Path, *, found: str, supported: str) -> None:
        super().__init__(
            f"The warehouse {path} has {found}, and this installation knows only {supported}. "
            "Install the newer version that wrote it, or point to another file."
        )
        self.path = path


class NotAWarehouseError(WarehouseError):
    """The file exists and is something else."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(
            f"{path} is no warehouse: {what}. Point to another path, or move what is there away; "
            "a warehouse is created where there is no file."
        )
        self.path = path


class WarehouseNotWritableError(WarehouseError):
    """The operating system does not let this user create, open or change the file."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            f"The warehouse {path} cannot be opened for writing ({why}). Make the directory "
            f"{path.parent} and the file writable for this user, or point to another path."
        )
        self.path = path


class WarehouseIntegrityError(WarehouseError):
    """Rows that break a rule of the warehouse. Nothing of their transaction was kept."""


class NotMaterializedError(WarehouseError):
    """An asset is to be read that has never been materialized for this video."""

    def __init__(self, asset: str, video_id: str) -> None:
        super().__init__(
            f"Video {video_id} has no materialized {asset}: materialize `{asset}` for it first."
        )
        self.asset = asset
        self.video_id = video_id
