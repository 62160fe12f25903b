"""The sources outside the pipeline, as external assets: the lineage graph begins with them."""

import dagster as dg

from factible_assets.pipeline.assets.common import GROUP, OWNERS

_SOURCES = {
    "youtube": ("youtube", "Captions and details of videos."),
    "corpus_files": ("yaml", "The YAML files in corpora/: videos, given claims and annotations."),
    "language_model": ("llm", "The language model of the settings, or the embedded engine."),
    "search_engines": ("search", "Web search, and fact-checks that others published."),
    "web_pages": ("html", "The pages that searches find: the live web or the archive."),
    "rating_sets": ("csv", "Files that rate the reliability of domains."),
}

sources = [
    dg.AssetSpec(name, group_name=GROUP, owners=OWNERS, kinds={kind}, description=description)
    for name, (kind, description) in _SOURCES.items()
]
