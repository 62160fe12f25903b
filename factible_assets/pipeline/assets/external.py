"""Assets that Dagster shows but does not make: the sources of a check, its report and its copy."""

import dagster as dg

from factible_assets.pipeline.assets.common import GROUP, OWNERS
from factible_assets.pipeline.partitions import videos

REPORT, PUBLISHED_COPY = "report", "published_copy"

_SOURCES = {
    "youtube": ("youtube", "Captions and details of videos."),
    "corpus_files": ("yaml", "The YAML files in corpora/: videos, given claims and annotations."),
    "language_model": ("llm", "The language model of the settings, or the embedded engine."),
    "search_engines": ("search", "Web search, and fact-checks that others published."),
    "web_pages": ("html", "The pages that searches find: the live web or the archive."),
    "rating_sets": ("csv", "Files that rate the reliability of domains."),
}

external_assets = [
    *(
        dg.AssetSpec(name, group_name=GROUP, owners=OWNERS, kinds={kind}, description=description)
        for name, (kind, description) in _SOURCES.items()
    ),
    dg.AssetSpec(
        REPORT,
        deps=["verdicts"],
        partitions_def=videos,
        group_name=GROUP,
        owners=OWNERS,
        kinds={"html"},
        description="The HTML report of a video, written by each check in the Dagster UI.",
    ),
    dg.AssetSpec(
        PUBLISHED_COPY,
        deps=["verdicts"],
        group_name=GROUP,
        owners=OWNERS,
        kinds={"duckdb"},
        description="The copy of the warehouse for readers. `publish_sensor` makes it after runs.",
    ),
]
