"""What every asset shares: retry policy, owners, failures, metadata that follows from the records.

What belongs here: the pieces that make assets look alike in the UI. What does not: anything about
one stage.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import dagster as dg

from factible_assets.pipeline.checks.structural import judged, structural_specs
from factible_assets.pipeline.partitions import videos
from factible_assets.records import ASSET_RECORDS, MAIN_RECORD, LlmCall, Video
from factible_assets.rows import VideoRows
from factible_assets.wording import cell, plain, table
from warehouse.errors import NotMaterializedError
from warehouse.rows import columns_of
from warehouse.sets import AssetRows
from warehouse.store import Warehouse
from warehouse.versions import packaged_comments

OWNERS = ["team:fact-checking"]

GROUP = "fact_check"
"""All assets are one group: of several, the UI shows boxes that hide them."""

KINDS = {"python", "duckdb"}

RETRIES = dg.RetryPolicy(
    max_retries=2, delay=5, backoff=dg.Backoff.EXPONENTIAL, jitter=dg.Jitter.FULL
)
"""Two more tries for what another try may cure; bad input is a final failure."""

_LAUNCHERS = {
    "dagster/backfill": "backfill",
    "dagster/from_ui": "Dagster UI",
    "dagster/sensor_name": "sensor",
    "dagster/schedule_name": "schedule",
}
"""How Dagster itself marks who launched a run."""

_TYPE_WORDS = {
    "VARCHAR": "text",
    "BIGINT": "integer",
    "DOUBLE": "number",
    "BOOLEAN": "yes or no",
    "DATE": "date",
    "TIMESTAMP WITH TIME ZONE": "datetime",
}
_TAG_CHARACTERS = 120


def final_failure(sentence: str) -> dg.Failure:
    """Fail without another try: the input is wrong, and the sentence says what to do."""
    return dg.Failure(sentence, allow_retries=False)


def stored(now: Warehouse, video_id: str, *assets: str, also: Sequence[str] = ()) -> VideoRows:
    """Return the newest sets of assets above; fail for good where one was never materialized.

    What is `also` wanted need not be there.

    Dagster would open the warehouse once more for each input; a step opens it once.
    """
    found = now.read_video(video_id, {*assets, *also})
    if missing := {*assets} - found.sets.keys():
        # The first of all: the others are made of it.
        first = min(missing, key=list(ASSET_RECORDS).index)
        raise final_failure(str(NotMaterializedError(first, video_id)))
    return found


def launcher_of(tags: Mapping[str, str]) -> str:
    """Say who launched a run, by the tags that Dagster gave it."""
    return next((who for tag, who in _LAUNCHERS.items() if tag in tags), "dagster")


def is_last_try(context: dg.AssetExecutionContext) -> bool:
    """Tell whether a failure of this try is the end of the step.

    It must then allow no retries: of a failure that does, the UI says "Exceeded max_retries" and
    nothing of what went wrong.
    """
    return bool(context.retry_number >= RETRIES.max_retries)


def tag_run(context: dg.AssetExecutionContext, video: Video, **more: object) -> None:
    """Make a run findable by its video, title, channel and corpus, however it was launched.

    What its launcher has said already stays. `more` are further tags, such as how many claims: what
    a run that is executed again has of the one before is not of it.
    """
    known: Any = context.run.tags
    tags = {
        "video": video.video_id,
        "title": plain(video.title, _TAG_CHARACTERS) if video.title != video.video_id else "",
        "channel": plain(video.channel or "", _TAG_CHARACTERS),
        "corpus": video.corpus,
        "launched_by": launcher_of(known),
        **more,
    }
    new = {
        key: str(value)
        for key, value in tags.items()
        if value and (key not in known or (key in more and known[key] != str(value)))
    }
    if new:
        context.instance.add_run_tags(context.run.run_id, new)
        # The steps of a process share its run: the next one need not write the same.
        known.update(new)


def video_asset(
    name: str,
    code_version: str,
    description: str,
    *,
    config_schema: Any = None,
    deps: Sequence[str] = (),
) -> Callable[[Callable[..., Any]], dg.AssetsDefinition]:
    """Make a function an asset that is made video by video and judged before it is kept.

    Without a schema of its knobs any that is given is refused.
    """
    made: Callable[[Callable[..., Any]], dg.AssetsDefinition] = dg.asset(
        name=name,
        description=description,
        partitions_def=videos,
        deps=deps,
        config_schema=config_schema or {},
        retry_policy=RETRIES,
        check_specs=structural_specs(name),
        **looks(name, code_version),
    )
    return made


def looks(asset: str, code_version: str) -> dict[str, Any]:
    """Return what the UI shows of an asset and does not change from run to run."""
    comments, main = packaged_comments(), MAIN_RECORD[asset]
    columns = [
        dg.TableColumn(
            name=column.name,
            type="list of " * column.sql_type.endswith("[]")
            + _TYPE_WORDS[column.sql_type.removesuffix("[]")],
            description=comments.get(f"{main.table}.{column.name}"),
            constraints=dg.TableColumnConstraints(nullable=column.nullable),
        )
        for column in columns_of(main)
    ]
    tables = [
        (f"`{each.table}`", cell(comments.get(each.table) or "–", 400))
        for each in ASSET_RECORDS[asset]
    ]
    return {
        "group_name": GROUP,
        "code_version": code_version,
        "owners": OWNERS,
        "kinds": KINDS,
        "metadata": {
            "dagster/column_schema": dg.TableSchema(columns=columns),
            "dagster/table_name": main.table,
            "tables": dg.MetadataValue.md(table(("table", "what stands in it"), tables)),
        },
    }


def kept(
    asset: str, code_version: str, whole: VideoRows, seconds: float, metadata: Mapping[str, Any]
) -> Iterator[dg.MaterializeResult[Any] | dg.AssetCheckResult]:
    """Yield an asset's rows as they are kept, judged among `whole`, the rows of the video.

    They were made in `seconds`.

    Raises dagster.Failure: They break a rule, and nothing is kept. The outcome was yielded.
    """
    outcomes, refusal = judged([asset], whole)
    if refusal is not None:
        yield from outcomes
        raise refusal
    rows = AssetRows(whole.of_asset(asset), code_version, duration_seconds=seconds)
    yield dg.MaterializeResult(
        value=rows,
        check_results=outcomes,
        data_version=dg.DataVersion(rows.data_version),
        metadata=metadata,
    )


def usage_metadata(calls: Iterable[LlmCall]) -> dict[str, Any]:
    """Return what the model calls of a stage took, if it made any: tokens, cost in US dollars."""
    made = list(calls)
    if not made:
        return {}
    return {
        "model calls": len(made),
        "tokens in": sum(call.input_tokens for call in made),
        "tokens out": sum(call.output_tokens for call in made),
        "cost (USD)": round(sum(call.cost_usd for call in made), 6),
        "calls without a listed price": sum(not call.price_known for call in made),
    }


def counts_by(values: Sequence[str | None]) -> str:
    """Say how often each value occurs, the most frequent first."""
    ordered = sorted(
        Counter(each or "none" for each in values).items(), key=lambda pair: (-pair[1], pair[0])
    )
    return ", ".join(f"{count} {value.replace('_', ' ')}" for value, count in ordered) or "none"
