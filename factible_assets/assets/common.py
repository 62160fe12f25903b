"""What every asset shares: retry policy, owners, failures, metadata that follows from the records.

What belongs here: the pieces that make assets look alike in the UI. What does not: anything about
one stage.
"""

import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Union, get_args, get_origin

import dagster as dg

from factible_assets.records import ASSET_RECORDS, MAIN_RECORD, LlmCall, Record, Video
from factible_assets.wording import cell, plain, table
from warehouse.comments import packaged_comments

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


_TAG_CHARACTERS = 120


def final_failure(sentence: str) -> dg.Failure:
    """Fail without another try: the input is wrong, and the sentence says what to do."""
    return dg.Failure(sentence, allow_retries=False)


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

    What its launcher has said already stays.

    Args:
        context: Of a step of the run.
        video: What the run is about.
        more: Further tags, such as how many claims there are.
    """
    known = context.run.tags
    launcher = launcher_of(known)
    tags = {
        "video": video.video_id,
        "title": plain(video.title, _TAG_CHARACTERS),
        "channel": plain(video.channel or "", _TAG_CHARACTERS),
        "corpus": video.corpus,
        "launched_by": launcher,
        **more,
    }
    new = {key: str(value) for key, value in tags.items() if value and key not in known}
    context.instance.add_run_tags(context.run.run_id, new)


def column_schema(record: type[Record]) -> dg.TableSchema:
    """Describe a record's table to Dagster, descriptions included."""
    return dg.TableSchema(
        columns=[
            dg.TableColumn(
                name=name,
                type=_type_words(field.annotation),
                description=packaged_comments().column(record.table, name) or field.description,
                constraints=dg.TableColumnConstraints(
                    nullable=type(None) in get_args(field.annotation)
                ),
            )
            for name, field in record.model_fields.items()
        ]
    )


def definition_metadata(asset: str) -> dict[str, Any]:
    """Return the metadata of an asset that does not change from run to run."""
    record = MAIN_RECORD[asset]
    return {
        "dagster/column_schema": column_schema(record),
        "dagster/table_name": record.table,
        "tables": dg.MetadataValue.md(_tables(ASSET_RECORDS[asset])),
    }


def _tables(records: Sequence[type[Record]]) -> str:
    """List the tables that an asset writes, with what stands in them."""
    comments = packaged_comments()
    rows = [(f"`{each.table}`", cell(comments.table(each.table) or "–", 400)) for each in records]
    return table(("table", "what stands in it"), rows)


def usage_metadata(calls: Iterable[LlmCall]) -> dict[str, Any]:
    """Return what the model calls of a stage took: tokens as reported, cost in US dollars."""
    made = list(calls)
    return {
        "model calls": len(made),
        "tokens in": sum(call.input_tokens for call in made),
        "tokens out": sum(call.output_tokens for call in made),
        "cost (USD)": round(sum(call.cost_usd for call in made), 6),
        "calls without a listed price": sum(not call.price_known for call in made),
    }


def counts_by(values: Sequence[str | None]) -> str:
    """Say how often each value occurs, the most frequent first."""
    counted: dict[str, int] = {}
    for value in values:
        counted[value or "none"] = counted.get(value or "none", 0) + 1
    ordered = sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{count} {value.replace('_', ' ')}" for value, count in ordered) or "none"


def _type_words(annotation: Any) -> str:
    if get_origin(annotation) in (Union, types.UnionType):
        options = [each for each in get_args(annotation) if each is not type(None)]
        return " or ".join(_type_words(each) for each in options)
    if get_origin(annotation) is Annotated:
        return _type_words(get_args(annotation)[0])
    if get_origin(annotation) is tuple:
        return f"list of {_type_words(get_args(annotation)[0])}"
    if get_args(annotation) and all(isinstance(each, str) for each in get_args(annotation)):
        return "text"
    names = {"str": "text", "int": "integer", "float": "number", "bool": "yes or no"}
    plain = getattr(annotation, "__name__", str(annotation))
    return names.get(plain, plain)
