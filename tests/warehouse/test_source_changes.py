"""The views that compare the sources of a claim between its checks."""

from __future__ import annotations

from factible_assets.records.tables import Evidence, Page, PageText
from tests.warehouse.samples import (
    FIRST_CHECK,
    QUOTE,
    asset_rows,
    claim,
    evidence,
    failed_evidence,
    page,
    page_text,
    search,
    stamp,
    video,
)
from warehouse.store import Warehouse


def source(name: str, found: str | int | None) -> list[Evidence | Page | PageText]:
    """The rows of a source whose page had a text, a status, or no answer."""
    url = {"canonical_url": f"https://{name}.example/", "domain": f"{name}.example"}
    own = {"evidence_id": name, "hit_id": name, **url}
    if isinstance(found, str):
        text = f"{found}: {QUOTE}"
        return [
            evidence("v", text=text).model_copy(update=own),
            page("v", text).model_copy(update=url),
            page_text(text),
        ]
    status = "no_evidence" if found else "infra_error"
    seen = {"status": status, "reason": "no page", "page_id": f"page-{name}"}
    return [
        failed_evidence("v").model_copy(update=own | seen),
        Page(**url, **seen, video_id="v", http_status=found, retrieved_at=FIRST_CHECK),
    ]


def test_changes_of_sources_are_told_from_outages(in_memory: Warehouse) -> None:
    checks: list[dict[str, str | int | None]] = [
        {"a": "one", "b": "two", "c": "three"},
        {"a": "new", "b": 404, "d": "four"},
        {"a": None},
        {"a": "new", "b": "two", "d": 403},
    ]
    in_memory.write_assets(
        "v",
        {"transcripts": asset_rows(video("v")), "claims": asset_rows(claim("v"))},
        stamp=stamp(0),
    )
    for run, found in enumerate(checks, start=1):
        fails = {"status": "infra_error", "reason": "busy", "hit_count": 0}
        asked = search("v") if None not in found.values() else search("v").model_copy(update=fails)
        rows = [row for name, state in found.items() for row in source(name, state)]
        sets = {"search_hits": asset_rows(asked), "evidence": asset_rows(*rows)}
        in_memory.write_assets("v", sets, stamp=stamp(run))
    changes = in_memory.query("SELECT run_id, change, domain FROM source_changes ORDER BY ALL")
    assert changes.rows() == [
        ("run-2", "appeared", "d.example"),
        ("run-2", "gone", "b.example"),
        ("run-2", "text_changed", "a.example"),
        ("run-2", "vanished", "c.example"),
        ("run-4", "back", "b.example"),
        ("run-4", "withheld", "d.example"),
    ]
    overlap = in_memory.query(
        "SELECT run_id, shared, jaccard, searches_complete FROM evidence_overlap ORDER BY run_id"
    )
    assert overlap.rows() == [
        ("run-2", 2, 2 / 4, True),
        ("run-3", 1, 1 / 3, False),
        ("run-4", 1, 1 / 3, False),
    ]
