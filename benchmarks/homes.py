"""Makes large data folders: one checked video, copied in SQL under other ids.

Each copy has its own ids, addresses and texts. Texts are padded to about 6,000 characters, the mean
of recorded pages, with words that compress like real ones.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import duckdb

from factible_assets.config import ClaimsConfig, FactCheckConfig, SearchConfig
from factible_assets.records.rows import VideoRows
from factible_assets.records.tables import ALL_RECORDS, Evidence, Page, PageText, Record
from factible_assets.runs.launch import run_video
from factible_assets.runs.result import StoredVideo
from factible_assets.settings import Settings
from resources.statements import statements
from warehouse.sets import AssetRows
from warehouse.store import Warehouse

SEED = "everyday-beliefs-talk"
"""The checked video: 12 claims, 115 pieces of evidence, 51 pages."""

_ASK = statements("benchmarks", "homes.sql")
_VIDEOS_AT_ONCE = 250
_OF_ITS_OWN = {"canonical_url": "{name} || '?' || n", "checked_at": "{name} + to_seconds(60 * n)"}


def make_home(home: Path, videos: int) -> Settings:
    """Check the demo's video in a fresh data folder and copy it to the given number of videos."""
    settings = Settings(home=home)
    config = FactCheckConfig(
        claims=ClaimsConfig(max_claims=12),
        search=SearchConfig(web="miniature"),
        reasoner="embedded",
    )
    outcome = run_video(StoredVideo(SEED, settings), config=config)
    if outcome.failures:
        raise SystemExit("; ".join(outcome.failures))
    with Warehouse(settings.warehouse).connection() as connection:
        # Like in a grown folder, where DuckDB leaves the rows of small files uncompressed.
        connection.execute("SET force_compression = 'auto'")
        connection.execute(_ASK["calls"])
        ((seed,),) = connection.execute(_ASK["seed"]).fetchall()
        for first in range(1, videos, _VIDEOS_AT_ONCE):
            part = {"seed": seed, "first": first, "last": min(first + _VIDEOS_AT_ONCE, videos)}
            connection.begin()
            for table in ["materializations", *(record.table for record in ALL_RECORDS)]:
                connection.execute(_copying(connection, table), part)
            connection.commit()
    return settings


def sets_of_its_own(
    held: VideoRows, video_id: str, ending: str, shared: str = ""
) -> dict[str, AssetRows]:
    """Return a checked video's sets under another id, with new texts.

    Each text gets the ending and its own hash, except the text with the hash `shared`.
    """
    texts = {old: text if old == shared else f"{text} {ending}" for old, text in held.texts.items()}
    hashes = {old: hashlib.sha256(text.encode()).hexdigest() for old, text in texts.items()}

    def own(row: Record) -> Record:
        if isinstance(row, PageText):
            return PageText(content_hash=hashes[row.content_hash], text=texts[row.content_hash])
        changed: dict[str, object] = {"video_id": video_id}
        if isinstance(row, Page | Evidence) and row.content_hash:
            changed["content_hash"] = hashes[row.content_hash]
        return row.model_copy(update=changed)

    return {
        asset: AssetRows([own(row) for row in held.of_asset(asset)], code_version="benchmark")
        for asset in held.sets
    }


def _copying(connection: duckdb.DuckDBPyConnection, table: str) -> str:
    """Return the statement that copies the first video's rows of one table."""
    names = [name for (name,) in connection.execute(_ASK["columns"], [table]).fetchall()]
    values = []
    for name in names:
        if name == "text" and table == "page_texts":
            made = _ASK["text"]
        elif name.endswith(("_id", "_hash")):
            made = f"md5({name} || n)"
        else:
            made = _OF_ITS_OWN.get(name, "{name}").format(name=name)
        values.append(made)
    return _ASK["copy"].format(table=table, columns=", ".join(names), values=", ".join(values))
