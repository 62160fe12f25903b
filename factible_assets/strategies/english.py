"""The English search for a claim in another language, for strategies with searches of their own."""

from __future__ import annotations

from factible_assets.config import QueriesConfig
from factible_assets.reasoners.embedded.text import is_english
from factible_assets.records.tables import Query
from factible_assets.stages.claim_check import ClaimCheck


async def english_search(check: ClaimCheck) -> Query | None:
    """Return an English search for a claim in another language, None for an English claim.

    The model's usual searches contain one (`search_rules.md`). A failure of the model is a row.
    """
    if is_english(check.claim.text, check.video.language or "") is not False:
        return None
    for query in await check.write_queries(QueriesConfig()):
        if query.basis == "llm" and (query.query_type == "source" or not query.text):
            return query
    return None
