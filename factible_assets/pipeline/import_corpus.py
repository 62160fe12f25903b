"""The job `import_corpus`, which imports annotated claims or videos as a corpus."""

# No `from __future__ import annotations`: Dagster reads the annotations of ops as types.

from typing import Any

import dagster as dg
from pydantic import Field

from factible_assets.config import StageConfig, Web
from factible_assets.corpora.format import CorpusError
from factible_assets.exchange import ImportFormat
from factible_assets.pipeline.add_video import CORPUS_NAME, permitted_path
from factible_assets.pipeline.assets.common import final_failure
from factible_assets.pipeline.launchpad import validated_schema
from factible_assets.pipeline.partitions import videos
from factible_assets.pipeline.resources import CorporaResource, FactCheckServices
from factible_assets.wording import cell

IMPORT_JOB = "import_corpus"


class ImportConfig(StageConfig):
    """The corpus to import, and its name."""

    path: str = Field(
        min_length=1,
        description="A file of claims, a corpus file, or a published evaluation folder: an "
        "absolute path on Dagster's machine, in the data folder.",
    )
    format: ImportFormat = Field(
        default="auto", description="The format of the path; auto detects it."
    )
    name: str | None = Field(
        default=None,
        pattern=CORPUS_NAME,
        description="The corpus's name, of letters, digits, hyphens and underscores; by default "
        "the path's.",
    )
    web: Web | None = Field(
        default=None,
        description="The web to search for evidence; by default the archive for published runs, "
        "and auto for the rest.",
    )
    limit: int | None = Field(
        default=None,
        ge=1,
        description="Import only the first claims of a list. At least 1; not for corpus files and "
        "published folders.",
    )
    replace: bool = Field(
        default=False, description="Whether to overwrite a different corpus of the same name."
    )


@dg.op(config_schema=validated_schema(ImportConfig))
def import_into_corpora(
    context: dg.OpExecutionContext, services: FactCheckServices, corpora: CorporaResource
) -> None:
    """Write a corpus file and its transcripts into the data folder, and add partitions."""
    from factible_assets.exchange.importing import import_corpus as import_from

    config, settings = ImportConfig.model_validate(context.op_config), services.settings()
    settings.ensure_home()
    try:
        written = import_from(
            permitted_path(config.path, settings, "factible corpus import"),
            settings.home_corpora,
            form=config.format,
            listing=corpora.read(),
            **config.model_dump(include={"name", "web", "limit", "replace"}),
        )
    except CorpusError as error:
        raise final_failure(str(error)) from error
    for sentence in written.left_out:
        context.log.warning("Left out: %s", sentence)
    context.instance.add_run_tags(context.run_id, {"corpus": written.name})
    context.instance.add_dynamic_partitions(str(videos.name), written.video_ids)
    metadata: dict[str, Any] = {
        "corpus": written.name,
        "file": dg.MetadataValue.path(written.file),
        "videos": len(written.video_ids),
        "annotated claims": written.claims,
        "transcripts": written.transcripts,
    }
    if written.left_out:
        items = "\n".join(f"- {cell(sentence)}" for sentence in written.left_out)
        metadata["left out"] = dg.MetadataValue.md(items)
    context.add_output_metadata(metadata)


@dg.job(name=IMPORT_JOB)
def import_corpus() -> None:
    """Import annotated claims or videos as a corpus, and add a partition for each.

    Formats: published runs, AVeriTeC, FEVER, ClaimReview, a corpus file. In the launchpad, set ops,
    import_into_corpora, config, path.
    """
    import_into_corpora()
