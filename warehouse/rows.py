"""Records as rows: the columns of a record class, and the conversion in both directions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from factible_assets.records.tables import Record
from warehouse.errors import WarehouseIntegrityError

if TYPE_CHECKING:  # slow to load, and only writers need it
    import pyarrow as pa

AnyRecord = TypeVar("AnyRecord", bound=Record)


@dataclass(frozen=True, slots=True)
class Stamp:
    """The run that writes a set, and its time (timezone-aware). The newest set is current."""

    run_id: str
    checked_at: datetime

    def __post_init__(self) -> None:
        if not self.run_id:
            raise ValueError("A stamp needs a run_id.")
        if self.checked_at.tzinfo is None:
            raise ValueError("A stamp's checked_at must be timezone-aware.")


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    sql_type: str
    nullable: bool


_SQL_TYPES: Mapping[type, str] = {
    bool: "BOOLEAN",
    int: "BIGINT",
    float: "DOUBLE",
    str: "VARCHAR",
    date: "DATE",
    datetime: "TIMESTAMP WITH TIME ZONE",
}


@cache
def columns_of(record: type[Record]) -> tuple[Column, ...]:
    """Return the columns of a record class, in order, without `run_id` and `checked_at`."""
    columns = []
    for name, field in record.model_fields.items():
        kind: Any = field.annotation
        nullable = get_origin(kind) in {Union, UnionType}
        if nullable:
            (kind,) = (part for part in get_args(kind) if part is not NoneType)
        if get_origin(kind) is tuple:
            columns.append(Column(name, f"{_SQL_TYPES[_plain(get_args(kind)[0])]}[]", nullable))
        else:
            columns.append(Column(name, _SQL_TYPES[_plain(kind)], nullable))
    return tuple(columns)


def to_frame(record: type[Record], rows: Sequence[Record], stamp: Stamp) -> pa.Table:
    """Convert rows of one class to an Arrow table with the types of their SQL table.

    Raises WarehouseIntegrityError: A value does not fit its column.
    """
    import pyarrow as pa  # noqa: PLC0415 - see above

    arrow_types = {
        "BOOLEAN": pa.bool_(),
        "BIGINT": pa.int64(),
        "DOUBLE": pa.float64(),
        "VARCHAR": pa.string(),
        "DATE": pa.date32(),
        "TIMESTAMP WITH TIME ZONE": pa.timestamp("us", "UTC"),
    }
    arrays: dict[str, pa.Array] = {}
    for column in columns_of(record):
        values = [getattr(row, column.name) for row in rows]
        if any(isinstance(value, datetime) and value.tzinfo is None for value in values):
            raise WarehouseIntegrityError(
                f"A row for {record.table} has a {column.name} without a time zone. All times are "
                "timezone-aware UTC. Nothing was written."
            )
        kind = arrow_types[column.sql_type.removesuffix("[]")]
        kind = pa.list_(kind) if column.sql_type.endswith("[]") else kind
        arrays[column.name] = to_array(values, record.table, column.name, kind)
    moment = pa.scalar(stamp.checked_at, arrow_types["TIMESTAMP WITH TIME ZONE"])
    arrays["run_id"] = pa.repeat(stamp.run_id, len(rows))
    arrays["checked_at"] = pa.repeat(moment, len(rows))
    return pa.table(arrays)


def to_array(values: list[Any], table: str, column: str, kind: Any = None) -> pa.Array:
    """Convert values to Arrow. Raises WarehouseIntegrityError: A value does not fit its column."""
    import pyarrow as pa  # noqa: PLC0415 - see above

    try:
        return pa.array(values, kind)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError) as failure:
        # The failure may quote the value, so the message neither shows nor chains it.
        raise WarehouseIntegrityError(
            f"A row for {table} has a value in {column} that its column cannot hold "
            f"({type(failure).__name__}). Text must be encodable as UTF-8, without lone "
            "surrogates, and whole numbers must fit into 64 bits. Nothing was written."
        ) from None


def from_row(record: type[AnyRecord], values: Sequence[Any]) -> AnyRecord:
    """Build a record from a row whose values are in the order of its fields."""
    named = zip(record.model_fields, map(aware, values), strict=True)
    return record.model_validate(dict(named))


def aware(value: Any) -> Any:
    """Add the zone UTC to a datetime; return any other value unchanged."""
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) else value


def to_utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC)


def data_version(rows: Iterable[Record]) -> str:
    """Return the SHA-256 (hexadecimal) of a set's content.

    Neither the order of the rows nor their volatile fields count.
    """
    digests = set()
    for row in rows:
        content = row.model_dump(mode="json", exclude=set(row.volatile))
        text = json.dumps([row.table, content], sort_keys=True, separators=(",", ":"))
        digests.add(hashlib.sha256(text.encode()).hexdigest())
    return hashlib.sha256("\n".join(sorted(digests)).encode()).hexdigest()


def _plain(annotation: Any) -> type:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _plain(get_args(annotation)[0])
    if origin is Literal:
        return type(get_args(annotation)[0])
    plain: type = annotation
    return plain
