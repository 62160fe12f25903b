"""Finds the claims of other videos on the subject of a text, with their verdicts."""

from __future__ import annotations

from typing import Any

from factible_assets.services.said_before import matches_of
from resources.statements import statements
from warehouse.bookkeeping import claims_sharing_words
from warehouse.store import Warehouse

_SQL = statements("factible_assets.runs", "said_before.sql")


def said_before(store: Warehouse, text: str, *, without: str | None = None) -> list[dict[str, Any]]:
    """Return rows of the view `verdicts` with `relation` and `similarity`, the nearest first.

    `outcome` is the stance of the verdict, incomplete or unjudged. `without` is a video whose
    claims are left out.

    Raises SetupError: The embeddings cannot be loaded.
    """
    matches = matches_of(claims_sharing_words(store, [text], without=without))
    if not matches:
        return []
    verdicts = store.rows(_SQL["verdicts_of"], {"ids": [match.other_claim_id for match in matches]})
    rows = {row["claim_id"]: row for row in verdicts}
    return [
        rows[match.other_claim_id] | {"relation": match.relation, "similarity": match.similarity}
        for match in matches
        if match.other_claim_id in rows
    ]
