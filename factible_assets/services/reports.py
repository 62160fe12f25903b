"""The HTML reports as a Dagster resource: written when verdicts are, linked from the UI.

What belongs here: writing a report at the end of a run, and what a materialization says of it. What
does not: the reports themselves (report/), the command line's own writing (cli/).

A report shows what a run found and adds nothing to it. So nothing that goes wrong while one is
written fails a run: it is said in the log and in the metadata, and `factible report` repairs it.
"""

# No `from __future__ import annotations`: Dagster reads the annotations of resources as types.

import logging
from pathlib import Path
from typing import Any
from urllib.parse import quote

import dagster as dg
from pydantic import Field

from factible_assets.settings import Settings
from warehouse.store import Warehouse


class ReportsResource(dg.ConfigurableResource):  # type: ignore[type-arg]
    """The folder of the HTML reports, and where a service shows them, if one does."""

    folder: str
    published: str = Field(
        default="", description="The copy of the warehouse that the service at public_url reads."
    )
    public_url: str | None = Field(
        default=None,
        description="The address at which `factible serve` is reached, without a slash at the end.",
    )

    @classmethod
    def of(cls, settings: Settings) -> "ReportsResource":
        """Return the resource of a data folder."""
        address = settings.public_url
        return cls(
            folder=str(settings.reports),
            published=str(settings.published),
            public_url=address.rstrip("/") if address else None,
        )

    def publish(
        self, store: Warehouse, video_id: str, log: logging.Logger
    ) -> dict[str, dg.MetadataValue[Any]]:
        """Write the report of a video, refresh the index, and return the metadata, links first.

        Blocks for some 0.3 s. Never raises: a report that cannot be written is a sentence in the
        metadata and a warning in the log.
        """
        # Templates load only where a report is written.
        from factible_assets.report.writing import INDEX, publish_report

        folder = Path(self.folder)
        try:
            path = publish_report(store, folder, video_id)
            if self.public_url is not None:
                # The links open at once, not when the sensor has published the run.
                store.publish(Path(self.published))
        except Exception as error:  # noqa: BLE001 - a run must not fail over how it is shown
            words = f"The report could not be written: {str(error) or type(error).__name__}"
            log.warning("%s Write it with: factible report -- %s", words, video_id)
            return {"report": dg.MetadataValue.text(words)}
        if path is None:
            return {}
        files: dict[str, dg.MetadataValue[Any]] = {
            "report file": dg.MetadataValue.path(str(path)),
            "index of reports": dg.MetadataValue.path(str(folder / INDEX)),
        }
        links = self.links(video_id)
        return {**links, **files} if links else {"report": files.pop("report file"), **files}

    def links(self, video_id: str) -> dict[str, dg.MetadataValue[Any]]:
        """Return the addresses of a video's report and of its page in the desk, if known."""
        if self.public_url is None:
            return {}
        name = quote(video_id, safe="")
        return {
            "report": dg.MetadataValue.url(f"{self.public_url}/reports/{name}"),
            "desk": dg.MetadataValue.url(f"{self.public_url}/desk/videos/{name}"),
        }
