"""Reads the lists of the desk from the published copy: the queue, search results and tables."""

from __future__ import annotations

import re
import unicodedata
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from typing import Any, TypeAlias
from urllib.parse import quote, urlencode

from pydantic import BaseModel, Field, ValidationInfo, field_validator

from factible_assets.records.stances import with_stances
from factible_assets.runs.said_before import said_before
from factible_assets.stages.ids import claim_id as id_of_claim
from resources.statements import statements
from resources.words import STOP_WORDS
from warehouse.store import Warehouse

Row: TypeAlias = dict[str, Any]
Table: TypeAlias = tuple[list[str], list[list[Any]]]
"""The names of the columns, and the rows."""

_STATEMENTS = statements("factible_assets.web.desk", "lists.sql", with_stances)
_SQL = {name: sql.replace("{listed}", _STATEMENTS["listed"]) for name, sql in _STATEMENTS.items()}

TABS = {
    "unreviewed": "Unreviewed",
    "mine": "Assigned to me",
    "incomplete": "Incomplete",
    "flipped": "Flipped",
    "uncertain": "Important and uncertain",
    "all": "All claims",
}
SORTS = {
    "need": "incomplete and flipped first",
    "uncertainty": "important and uncertain first",
    "importance": "most important first",
    "confidence": "most confident first",
    "flipped": "last flipped first",
    "newest": "last checked first",
    "oldest": "checked longest ago first",
    "video": "by video and time",
}
ROWS_OF_QUEUE, ROWS_FOUND = 40, 15
"""Rows per page: of the queue, and of each kind of search result."""
UNCERTAIN = 0.35
"""A claim counts as uncertain from this product on: importance times (1 - confidence), 0 to 1."""
_MOST_ROWS = 1_000_000
"""A spreadsheet takes no more rows."""
_MOST_SIMILAR = 8
_MOST_WORDS = 12
_STEM = 6
_WORD = re.compile(r"[^\W_]+")


def video_path(video_id: str) -> str:
    return f"/desk/videos/{quote(video_id, safe='')}"


def claim_path(video_id: str, claim_id: str) -> str:
    """Return the permanent address of a claim's page."""
    return f"{video_path(video_id)}/claims/{quote(claim_id, safe='')}"


def _week_ago() -> date:
    return (datetime.now(UTC) - timedelta(weeks=1)).date()


class QueueQuery(BaseModel, frozen=True):
    """The filters of the queue's address. An unusable value means the default.

    An empty `tab` means the first tab that has a claim.
    """

    tab: str = ""
    since: date = Field(default_factory=_week_ago)
    corpus: str = ""
    channel: str = ""
    video: str = ""
    sort: str = "need"
    page: int = Field(1, ge=1, le=100_000)

    @field_validator("*", mode="wrap")
    @classmethod
    def _or_default(cls, value: Any, handler: Any, info: ValidationInfo) -> Any:
        name = str(info.field_name)
        with suppress(ValueError):
            valid = handler(value)
            if valid in {"tab": TABS, "sort": SORTS}.get(name, (valid,)):
                return valid
        return cls.model_fields[name].get_default(call_default_factory=True)

    def address(self, path: str = "/desk/queue", **changes: object) -> str:
        """Return the address of a page with this query and changes. It starts again at page 1."""
        values, defaults = self.model_dump() | {"page": 1} | changes, QueueQuery().model_dump()
        set_here = {key: value for key, value in values.items() if value and value != defaults[key]}
        return f"{path}?{urlencode(set_here)}" if set_here else path


def read_queue(
    now: Warehouse, query: QueueQuery, me: str, current: tuple[str, str] = ("", "")
) -> Row:
    """Return a page of a reviewer's queue: the one with the claim `current` if the queue has it.

    The values are the `query`, its `rows`, the number of claims of each tab (`numbers`), `total`,
    `page` and `pages` of the chosen tab, and the `corpora` and `channels` to choose from. A row has
    the video_id and claim_id of the `previous` and the `next` one.
    """
    query, counts, values = _queue_values(now, query, me)
    values |= {"current_video": current[0], "current_claim": current[1], "limit": ROWS_OF_QUEUE}
    rows, videos = now.rows(_SQL["queue"], values), now.rows(_SQL["places"])
    total = counts[query.tab]
    return {
        "query": query,
        "rows": rows,
        "numbers": counts,
        "total": total,
        "page": 1 + (rows[0]["place"] - 1) // ROWS_OF_QUEUE if rows else query.page,
        "pages": max(1, -(-total // ROWS_OF_QUEUE)),
        "corpora": sorted({row["corpus"] for row in videos if row["corpus"]}),
        "channels": sorted({row["channel"] for row in videos if row["channel"]}, key=str.casefold),
    }


def _queue_values(now: Warehouse, query: QueueQuery, me: str) -> tuple[QueueQuery, Row, Row]:
    """Return the query with its tab, the number of claims of each tab, and the values in SQL."""
    current_ids: dict[str, str] = {}  # by former id
    for row in reversed(now.rows(_SQL["rewordings"])):  # the latest first
        after = id_of_claim(row["video_id"], row["value"])
        current_ids.setdefault(row["claim_id"], current_ids.get(after, after))
    filters: dict[str, Any] = {
        "since": query.since,
        "doubt": UNCERTAIN,
        "me": me,
        **query.model_dump(include={"corpus", "channel", "video"}),
        "former": list(current_ids),
        "now": list(current_ids.values()),
    }
    (counts,) = now.rows(_SQL["counts"], filters)
    if not query.tab:
        first = next((tab for tab in TABS if counts[tab]), "all")
        query = query.model_copy(update={"tab": first})
    return query, counts, filters | query.model_dump(include={"tab", "sort", "page"})


# --- Tables for CSV -------------------------------------------------------------------------------


def queue_table(now: Warehouse, query: QueueQuery, me: str) -> Table:
    """Return the whole queue of a reviewer."""
    _, _, values = _queue_values(now, query.model_copy(update={"page": 1}), me)
    values |= {"limit": _MOST_ROWS, "current_video": "", "current_claim": ""}
    names, rows = now.table(_SQL["queue"], values)
    columns = [index for index, name in enumerate(names) if name not in {"previous", "next"}]
    return [names[index] for index in columns], [[row[index] for index in columns] for row in rows]


def claims_table(now: Warehouse, video_id: str) -> Table:
    return now.table(_SQL["claims"], {"video": video_id})


def sources_table(now: Warehouse, video_id: str, claim_id: str) -> Table:
    return now.table(_SQL["sources"], {"video": video_id, "claim": claim_id})


# --- Search ---------------------------------------------------------------------------------------


def search_terms(text: str) -> list[str]:
    """Return the distinct beginnings of the words of a text, without accents.

    A word stands for all words with the same first six letters, so that "vaccines" finds
    "vaccination". Words with digits stand for themselves. Stop words count only if there are no
    other words.
    """
    bare = unicodedata.normalize("NFKD", text.lower())
    words = _WORD.findall("".join(letter for letter in bare if not unicodedata.combining(letter)))
    words = [word for word in words if word not in STOP_WORDS] or words
    stems = (word if re.search(r"\d", word) else word[:_STEM] for word in words)
    return list(dict.fromkeys(stems))[:_MOST_WORDS]


def search(now: Warehouse, text: str, page: int) -> Row:
    """Return one page of results for a text.

    The values are the `rows` of each kind, the best first, their `totals`, and the number of
    `pages` of the longest list.
    """
    rows: list[Row] = []
    if words := search_terms(text):
        window = {"limit": ROWS_FOUND, "offset": ROWS_FOUND * (page - 1)}
        rows = now.rows(_SQL["search"], {"words": words, **window})
    kinds = ("claim", "quote", "review")
    by_kind = {kind: [row for row in rows if row["kind"] == kind] for kind in kinds}
    totals = {kind: rows[0]["total"] if rows else 0 for kind, rows in by_kind.items()}
    pages = max(1, -(-max(totals.values()) // ROWS_FOUND))
    return {"rows": by_kind, "totals": totals, "page": page, "pages": pages}


def similar_claims(now: Warehouse, video_id: str, text: str) -> list[Row]:
    """Return the claims of other videos on the same subject, the most similar first."""
    matches = said_before(now, text, without=video_id)[:_MOST_SIMILAR]
    return [{**row, "text": row["claim"], "title": row["video_title"]} for row in matches]


def next_address(queue: Row, video_id: str, claim_id: str) -> str | None:
    """Return the address of the claim after another one in a queue, or of the first one."""
    key = (video_id, claim_id)
    rows = [row for row in queue["rows"] if (row["video_id"], row["claim_id"]) == key]
    after = rows[0]["next"] if rows else next(iter(queue["rows"]), None)
    query: QueueQuery = queue["query"]
    return query.address(claim_path(after["video_id"], after["claim_id"])) if after else None
