"""Arbitrary records of every class, derived from the classes themselves.

What a single field may hold comes from its annotation and its bounds; only the rules between
fields are written out here, as repairs of an otherwise arbitrary row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta, timezone
from types import NoneType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

from hypothesis import strategies as st
from pydantic.fields import FieldInfo

from factible_assets.records.tables import (
    Claim,
    Evidence,
    MediaFinding,
    Page,
    PageText,
    PriorFactCheck,
    Record,
    TranscriptSegment,
    Verdict,
)
from tests.warehouse.samples import sha256

AnyRecord = TypeVar("AnyRecord", bound=Record)
Values = dict[str, Any]

_BIGGEST = 2**63 - 1
# Bounds of hypothesis are without a zone; the moments it draws have one.
_EARLIEST = datetime(1970, 1, 2, tzinfo=UTC).replace(tzinfo=None)
_LATEST = datetime(2200, 1, 1, tzinfo=UTC).replace(tzinfo=None)
_ZONES = st.sampled_from(
    [UTC, timezone(timedelta(hours=5, minutes=30)), timezone(-timedelta(hours=8))]
)


def rows_of(record: type[AnyRecord], **fixed: Any) -> st.SearchStrategy[AnyRecord]:
    """Any row of a class that the class accepts, with some fields given."""
    fields = {name: _field(info) for name, info in record.model_fields.items() if name not in fixed}
    repair = _REPAIRS.get(record, dict[str, Any])
    return st.fixed_dictionaries(fields).map(
        lambda values: record.model_validate(repair({**values, **fixed}))
    )


def _field(info: FieldInfo) -> st.SearchStrategy[Any]:
    return _annotated(info.annotation, _bounds(info.metadata))


def _annotated(annotation: Any, bounds: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    parts = get_args(annotation)
    if get_origin(annotation) is Annotated:
        inner = [rule for part in parts[1:] for rule in getattr(part, "metadata", [part])]
        return _annotated(parts[0], {**bounds, **_bounds(inner)})
    if get_origin(annotation) is Literal:
        return st.sampled_from(parts)
    if get_origin(annotation) is tuple:
        return st.lists(_annotated(parts[0], {}), max_size=3).map(tuple)
    if NoneType in parts:
        (some,) = (part for part in parts if part is not NoneType)
        return st.none() | _annotated(some, bounds)
    return _SCALARS[annotation](bounds)


def _bounds(rules: list[Any]) -> dict[str, Any]:
    names = ("ge", "le", "min_length", "max_length")
    return {name: getattr(rule, name) for rule in rules for name in names if hasattr(rule, name)}


def _text(bounds: Mapping[str, Any]) -> st.SearchStrategy[str]:
    return st.text(
        min_size=bounds.get("min_length", 0), max_size=min(20, bounds.get("max_length", 20))
    )


def _whole(bounds: Mapping[str, Any]) -> st.SearchStrategy[int]:
    return st.integers(bounds.get("ge", -_BIGGEST), bounds.get("le", _BIGGEST))


def _real(bounds: Mapping[str, Any]) -> st.SearchStrategy[float]:
    return st.floats(bounds.get("ge"), bounds.get("le"), allow_nan=False, allow_infinity=False)


_SCALARS: Mapping[Any, Callable[[Mapping[str, Any]], st.SearchStrategy[Any]]] = {
    str: _text,
    int: _whole,
    float: _real,
    bool: lambda _: st.booleans(),
    date: lambda _: st.dates(),
    datetime: lambda _: st.datetimes(_EARLIEST, _LATEST, timezones=_ZONES),
}


def _ordered(values: Values, start: str, end: str) -> Values:
    low, high = sorted((values[start], values[end]))
    return {**values, start: low, end: high}


def _segment(values: Values) -> Values:
    return _ordered(values, "char_start", "char_end")


def _claim(values: Values) -> Values:
    place = ("char_start", "char_end", "match_score")
    if any(values[name] is None for name in place) or values["char_start"] == values["char_end"]:
        return {**values, **dict.fromkeys(place), "start_seconds": None}
    return _ordered(values, "char_start", "char_end")


def _page(values: Values) -> Values:
    return {**values, "content_hash": None, "status": _unless_ok(values["status"])}


def _page_text(values: Values) -> Values:
    return {**values, "content_hash": sha256(values["text"])}


def _prior_fact_check(values: Values) -> Values:
    found = {"url": "https://a.example/", "canonical_url": "https://a.example/", "similarity": 0.5}
    if values["status"] not in {"ok", "skipped"}:
        found = dict.fromkeys(found)
    return {**values, **found, "reason": values["reason"] or "a reason"}


def _evidence(values: Values) -> Values:
    values = {**values, **dict.fromkeys(("quote", "quote_start", "quote_end", "content_hash"))}
    if values["stance"] is None:
        status = _unless_ok(values["status"])
        return {**values, "status": status, "reason": values["reason"] or "a reason"}
    return {**values, "status": "ok"}


def _verdict(values: Values) -> Values:
    values = {**values, "veracity": "half-true" if values["stance"] == "mixed" else None}
    if values["stance"] is None or values["confidence"] is None:
        undecided = {"stance": None, "confidence": None, "status": "incomplete"}
        return {**values, **undecided, "reason": values["reason"] or "a reason"}
    return {**values, "status": "complete"}


def _unless_ok(status: str) -> str:
    return "infra_error" if status == "ok" else status


_REPAIRS: Mapping[type[Record], Callable[[Values], Values]] = {
    TranscriptSegment: _segment,
    Claim: _claim,
    Page: _page,
    PageText: _page_text,
    PriorFactCheck: _prior_fact_check,
    Evidence: _evidence,
    Verdict: _verdict,
    MediaFinding: lambda values: {**values, "reason": values["reason"] or "a reason"},
}
