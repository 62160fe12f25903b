"""Helpers of all assets: the decorator, reading upstream rows, run tags, and metadata."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from factible_assets.pipeline.checks.integrity import check_integrity, integrity_specs
from factible_assets.pipeline.partitions import videos
from factible_assets.records.rows import VideoRows
from factible_assets.records.tables import ASSET_RECORDS, MAIN_RECORD, LlmCall, Video
from factible_assets.wording import cell, plain, table
from warehouse.rows import Stamp, columns_of
from warehouse.sets import AssetRows
from warehouse.store import Warehouse
from warehouse.versions import packaged_comments

OWNERS = ["team:fact-checking"]

GROUP = "fact_check"
"""One group for all assets: with several, the UI folds them into boxes."""

RETRIES = dg.RetryPolicy(
    max_retries=2, delay=5, backoff=dg.Backoff.EXPONENTIAL, jitter=dg.Jitter.FULL
)

_LAUNCHERS = {
    "dagster/backfill": "backfill",
    "dagster/from_ui": "Dagster UI",
    "dagster/sensor_name": "sensor",
    "dagster/schedule_name": "schedule",
}
"""Dagster's tags of a run, by launcher."""

_TYPE_WORDS = {
    "VARCHAR": "text",
    "VARCHAR[]": "list of text",
    "BIGINT": "integer",
    "DOUBLE": "number",
    "BOOLEAN": "yes or no",
    "DATE": "date",
    "TIMESTAMP WITH TIME ZONE": "datetime",
}
_TAG_CHARACTERS = 120


def final_failure(sentence: str) -> dg.Failure:
    """Return a failure that Dagster does not retry; the sentence says what to do."""
    return dg.Failure(sentence, allow_retries=False)


def read_upstream(
    now: Warehouse, video_id: str, *assets: str, optional: Sequence[str] = ()
) -> VideoRows:
    """Read the current rows of upstream assets; rows of `optional` assets may be missing.

    Assets read their inputs through this function: Dagster would open the warehouse for each input.

    Raises dagster.Failure: An asset was never materialized for the video. Never retried.
    """
    rows = now.read_video(video_id, {*assets, *optional})
    if missing := {*assets} - rows.sets.keys():
        first = min(missing, key=list(ASSET_RECORDS).index)
        raise final_failure(
            f"Video {video_id} has no materialized {first}: materialize `{first}` for it first."
        )
    return rows


def launcher_of(tags: Mapping[str, str]) -> str:
    """Return who launched a run, from the tags that Dagster gave it."""
    return next((who for tag, who in _LAUNCHERS.items() if tag in tags), "dagster")


def is_last_try(context: dg.AssetExecutionContext) -> bool:
    """Tell whether Dagster will not retry this step.

    The last failure must not allow retries: otherwise the UI says "Exceeded max_retries" and hides
    the reason.
    """
    return bool(context.retry_number >= RETRIES.max_retries)


def tag_run(context: dg.AssetExecutionContext, video: Video) -> None:
    """Tag a run with its video, title, corpus and launcher; tags that the launcher set stay.

    The list of runs shows every tag as a pill, so all else is metadata of the assets.
    """
    run_tags: Any = context.run.tags
    tags = {
        "video": video.video_id,
        "title": plain(video.title, _TAG_CHARACTERS) if video.title != video.video_id else "",
        "corpus": video.corpus,
        "launched_by": launcher_of(run_tags),
    }
    new = {key: str(value) for key, value in tags.items() if value and key not in run_tags}
    if new:
        context.instance.add_run_tags(context.run.run_id, new)
        run_tags.update(new)  # The next step of this process need not write them again.


def video_asset(
    name: str, code_version: str, description: str, *, kind: str = "python", **arguments: Any
) -> Callable[[Callable[..., Any]], dg.AssetsDefinition]:
    """Decorate a function as an asset with a partition per video and an integrity check.

    `arguments` are other arguments of `dagster.asset`. Without a `config_schema` the asset accepts
    no options.
    """
    decorator: Callable[[Callable[..., Any]], dg.AssetsDefinition] = dg.asset(
        name=name,
        description=description,
        partitions_def=videos,
        retry_policy=RETRIES,
        check_specs=integrity_specs(name),
        **static_metadata(name, code_version, kind),
        **{"config_schema": {}, **arguments},
    )
    return decorator


def static_metadata(asset: str, code_version: str, kind: str) -> dict[str, Any]:
    """Return the arguments of an asset definition that describe it in the UI."""
    comments, main = packaged_comments(), MAIN_RECORD[asset]
    columns = [
        dg.TableColumn(
            name=column.name,
            type=_TYPE_WORDS[column.sql_type],
            description=comments.get(f"{main.table}.{column.name}"),
            constraints=dg.TableColumnConstraints(nullable=column.nullable),
        )
        for column in columns_of(main)
    ]
    tables = [
        (f"`{record.table}`", cell(comments.get(record.table) or "–", 400))
        for record in ASSET_RECORDS[asset]
    ]
    return {
        "group_name": GROUP,
        "code_version": code_version,
        "owners": OWNERS,
        "kinds": {kind, "duckdb"},
        "metadata": {
            "dagster/column_schema": dg.TableSchema(columns=columns),
            "dagster/table_name": main.table,
            "tables": dg.MetadataValue.md(table(("table", "content"), tables)),
        },
    }


def stored_rows(
    context: dg.AssetExecutionContext,
    store: Warehouse,
    asset: str,
    code_version: str,
    whole: VideoRows,
    seconds: float,
    metadata: Mapping[str, Any],
) -> Iterator[dg.MaterializeResult[Any] | dg.AssetCheckResult]:
    """Validate the asset's rows against the whole video, store them, and yield the results.

    `seconds` is the compute time.

    Raises dagster.Failure: A row breaks a rule, so nothing is stored. The check result was yielded.
    """
    checks, failure = check_integrity([asset], whole)
    if failure is not None:
        yield from checks
        raise failure
    rows = AssetRows(whole.of_asset(asset), code_version, duration_seconds=seconds)
    stamp = Stamp(run_id=context.run.run_id, checked_at=datetime.now(UTC))
    (stored,) = store.write_assets(context.partition_key, {asset: rows}, stamp=stamp)
    yield dg.MaterializeResult(
        asset_key=asset,
        check_results=checks,
        data_version=dg.DataVersion(stored.data_version),
        metadata={**metadata, "dagster/row_count": stored.row_count},
    )


def usage_metadata(calls: Sequence[LlmCall]) -> dict[str, Any]:
    """Return the tokens and the cost in US dollars of model calls; nothing without calls."""
    if not calls:
        return {}
    return {
        "model calls": len(calls),
        "tokens in": sum(call.input_tokens for call in calls),
        "tokens out": sum(call.output_tokens for call in calls),
        "cost (USD)": round(sum(call.cost_usd for call in calls), 6),
        "calls without a listed price": sum(not call.price_known for call in calls),
    }


def counts_by(values: Sequence[str | None]) -> str:
    """Count each value, the most frequent first: "3 supports, 1 none"."""
    counts = Counter(sorted(value or "none" for value in values)).most_common()
    return ", ".join(f"{count} {value.replace('_', ' ')}" for value, count in counts) or "none"
