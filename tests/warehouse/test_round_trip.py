"""Any record comes back from the warehouse unchanged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import count

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from factible_assets.records.tables import (
    ALL_RECORDS,
    ASSET_RECORDS,
    Claim,
    Evidence,
    LlmCall,
    Page,
    PageText,
    Record,
    ReliabilityRating,
    TranscriptSegment,
    Verdict,
)
from tests.warehouse.samples import (
    asset_rows,
    claim,
    evidence,
    page,
    page_text,
    sha256,
    stamp,
    write_asset,
)
from tests.warehouse.strategies import rows_of
from warehouse.rows import data_version
from warehouse.sets import AssetRows
from warehouse.store import Warehouse

KEYS: Mapping[type[Record], str] = {
    TranscriptSegment: "position",
    ReliabilityRating: "domain",
    LlmCall: "call_id",
}
"""The fields that tell the rows of one video apart, where it is not the first one."""

EXAMPLES = settings(
    max_examples=5,
    deadline=None,
    # A failing example is small enough as it is found.
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def videos() -> Iterator[str]:
    """A video of its own for every example, so that none sees the rows of another."""
    return (f"example-{number}" for number in count())


def _sets(record: type[Record], rows: list[Record], video_id: str) -> dict[str, AssetRows]:
    """Rows as one set, with claims for verdicts and pages for texts, which make them current."""
    asset = next(asset for asset, classes in ASSET_RECORDS.items() if record in classes)
    claims = [
        claim(video_id).model_copy(update={"claim_id": row.claim_id})
        for row in rows
        if isinstance(row, Verdict)
    ]
    pages = [
        page(video_id, row.text).model_copy(update={"page_id": row.content_hash})
        for row in rows
        if isinstance(row, PageText)
    ]
    return {"claims": asset_rows(*claims), asset: asset_rows(*rows, *pages)}


def _of_one_video(record: type[Record], rows: list[Record], video_id: str) -> list[Record]:
    """Rows moved to one video, without those that share a key, as rows of one set never do."""
    key = KEYS.get(record, next(iter(record.model_fields)))
    changes = {"video_id": video_id} if "video_id" in record.model_fields else {}
    moved = [row.model_copy(update=changes) for row in rows]
    return list({getattr(row, key): row for row in moved}.values())


@pytest.mark.parametrize("record", ALL_RECORDS, ids=lambda record: record.table)
def test_records_come_back_as_they_were(
    held: Warehouse, videos: Iterator[str], record: type[Record]
) -> None:
    fixed = {"stage": "claims", "cache_hit": False} if record is LlmCall else {}

    @EXAMPLES
    @given(st.lists(rows_of(record, **fixed), max_size=6))
    def check(drawn: list[Record]) -> None:
        video_id = next(videos)
        rows = _of_one_video(record, drawn, video_id)
        held.write_assets(video_id, _sets(record, rows, video_id), stamp=stamp(1))
        assert Counter(held.read_current(record, video_id)) == Counter(rows)

    check()


@EXAMPLES
@given(before=st.text(), quote=st.text(min_size=1), after=st.text())
def test_a_verbatim_quote_is_accepted_in_any_script(
    held: Warehouse, videos: Iterator[str], before: str, quote: str, after: str
) -> None:
    video_id, text = next(videos), before + quote + after
    span = {"quote": quote, "quote_start": len(before), "quote_end": len(before + quote)}
    row = evidence(video_id).model_copy(update={**span, "content_hash": sha256(text)})
    write_asset(
        held, "evidence", video_id, [row, page_text(text)], stamp=stamp(1), code_version="1"
    )
    (found,) = held.query(
        "SELECT substring(page_texts.text, quote_start + 1, quote_end - quote_start) = quote "
        "FROM current_evidence JOIN page_texts USING (content_hash) WHERE video_id = ?",
        [video_id],
    ).row(0)
    assert held.read_current(Evidence, video_id) == [row]
    assert found, "SQL and Python count the same characters"


@EXAMPLES
@given(
    st.lists(rows_of(Claim), max_size=6).flatmap(
        lambda rows: st.tuples(st.just(rows), st.permutations(rows))
    )
)
def test_the_order_of_rows_does_not_change_a_data_version(
    both: tuple[list[Claim], list[Claim]],
) -> None:
    assert data_version(both[0]) == data_version(both[1])


@EXAMPLES
@given(rows_of(Page), rows_of(Page))
def test_a_data_version_changes_with_the_content_and_with_nothing_else(
    one: Page, other: Page
) -> None:
    volatile = {name: getattr(other, name) for name in Page.volatile}
    assert data_version([one.model_copy(update=volatile)]) == data_version([one])
    assert data_version([one.model_copy(update={"domain": one.domain + "x"})]) != data_version(
        [one]
    )
