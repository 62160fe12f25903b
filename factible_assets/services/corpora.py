"""The corpora as a Dagster resource: which videos there are, and where their words stand.

What belongs here: the resource. What does not: reading and checking the files (corpora.py).
"""

from pathlib import Path

import dagster as dg

from factible_assets.corpora import CorporaReading, load_corpora


class CorporaResource(dg.ConfigurableResource):  # type: ignore[type-arg]
    """The corpus files of some folders, read anew each time."""

    folders: list[str]

    def read(self) -> CorporaReading:
        """Read all corpora; files with problems are told apart from files that list nothing."""
        return load_corpora([Path(folder) for folder in self.folders])
