"""The English search for a claim in another language, for strategies with searches of their own."""

from __future__ import annotations

from factible_assets.config import QueriesConfig
from factible_assets.reasoners.embedded.text import is_english
from factible_assets.records.tables import Query
from factible_assets.stages.claim_check import ClaimCheck


async def english_search(check: ClaimCheck) -> Query | None:
    """Have the model word an English search for a claim in another language, else return None.

    Its usual searches hold one (`search_rules.md`). If the model failed, the row says so.
    """
    if is_english(check.claim.text, check.video.language or "") is not False:
        return None
    worded = await check.write_queries(QueriesConfig())
    by_model = [each for each in worded if each.basis == "llm"]
    return next((each for each in by_model if each.query_type == "source" or not each.text), None)
