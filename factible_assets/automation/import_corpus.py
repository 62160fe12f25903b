"""The job `import_corpus`: a corpus imported from the launchpad of the Dagster UI.

What belongs here: the job's run config, and what it does to the instance (partitions, a tag). What
does not: formats and writing (exchange/), the same thing from the command line (cli/corpus.py).
"""

# No `from __future__ import annotations`: Dagster reads the annotations of ops as types.

from typing import Any

import dagster as dg
from pydantic import Field

from factible_assets.assets.common import final_failure
from factible_assets.automation.add_video import WEB, permitted
from factible_assets.automation.new_videos import PARTITIONS_PER_TICK, partitions_to_add
from factible_assets.config import StageConfig
from factible_assets.corpora.format import CorpusError
from factible_assets.exchange import ImportFormat
from factible_assets.launchpad import launchpad_schema, settled
from factible_assets.partitions import videos
from factible_assets.services.resource import CorporaResource, FactCheckServices
from factible_assets.wording import cell

IMPORT_JOB = "import_corpus"

CORPUS_TAG = "corpus"
"""The run tag that says which corpus a run is about."""


class ImportConfig(StageConfig):
    """What to import, and under which name."""

    path: str = Field(
        min_length=1,
        description="A file of claims or a corpus file, or a published evaluation folder, on the "
        "machine that runs Dagster, as a whole path, in the data folder or in "
        "FACTIBLE_TRANSCRIPT_FOLDERS.",
    )
    format: ImportFormat = Field(
        default=ImportFormat.auto,
        description=f"What the path holds; auto looks. One of: {', '.join(ImportFormat)}.",
    )
    name: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9_-]{1,60}$",
        description="The corpus's name, in letters, digits, hyphens and underscores; else the "
        "path's.",
    )
    web: str | None = Field(
        default=None,
        pattern=WEB,
        description="Where evidence is looked for; else the archive for published runs, auto for "
        "the rest.",
    )
    limit: int | None = Field(
        default=None, ge=1, description="Only the first so many claims. At least 1."
    )
    replace: bool = Field(
        default=False, description="Whether a different corpus of the same name is overwritten."
    )


# One op and not two: what passes between ops goes through the warehouse, which takes rows only.
@dg.op(
    name="import_into_corpora",
    config_schema=launchpad_schema(ImportConfig),
    description=(
        "Write a corpus file, and the transcripts that it names, into the data folder, and add a "
        "partition for every video that has none yet."
    ),
)
def import_into_corpora(
    context: dg.OpExecutionContext,
    services: FactCheckServices,
    corpora: CorporaResource,
) -> None:
    """Import, tag the run with the corpus, and add partitions."""
    from factible_assets.exchange.importing import (  # noqa: PLC0415 - readers of formats load late
        import_corpus as import_from,
    )

    config, settings = settled(ImportConfig, context.op_config), services.settings()
    settings.ensure_home()
    try:
        done = import_from(
            permitted(config.path, settings, "factible corpus import"),
            settings.home_corpora,
            form=config.format,
            listing=corpora.read(),
            **config.model_dump(include={"name", "web", "limit", "replace"}),
        )
    except CorpusError as error:
        raise final_failure(str(error)) from error
    for sentence in done.left_out:
        context.log.warning("Left out: %s", sentence)
    context.instance.add_run_tags(context.run_id, {CORPUS_TAG: done.name})
    name = str(videos.name)
    added = partitions_to_add(done.video_ids, context.instance.get_dynamic_partitions(name))
    for start in range(0, len(added), PARTITIONS_PER_TICK):
        context.instance.add_dynamic_partitions(name, added[start : start + PARTITIONS_PER_TICK])
    metadata: dict[str, Any] = {
        "corpus": done.name,
        "file": dg.MetadataValue.path(done.file),
        "videos": done.videos,
        "annotated claims": done.claims,
        "transcripts": done.transcripts,
        "partitions added": len(added),
    }
    if done.left_out:
        told = "\n".join(f"- {cell(sentence)}" for sentence in done.left_out)
        metadata["left out"] = dg.MetadataValue.md(told)
    context.add_output_metadata(metadata)


@dg.job(
    name=IMPORT_JOB,
    description=(
        "Import claims or videos that others annotated (published runs, AVeriTeC, FEVER, "
        "ClaimReview, a corpus file) as a corpus, and add a partition for each. Say what to "
        "import in the launchpad: ops, import_into_corpora, config, path."
    ),
)
def import_corpus() -> None:
    """Import a corpus and add its partitions."""
    import_into_corpora()
