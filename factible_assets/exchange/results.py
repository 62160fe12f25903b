"""Collects the rated claims of videos for a document, such as ClaimReview or AVeriTeC's JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from factible_assets.records.tables import Claim, ReviewAction, Verdict
from factible_assets.report.data import ReportData
from factible_assets.version import VERSION

SOFTWARE: Final = f"factible-assets {VERSION}"

DISCLAIMER: Final = (
    "Made by software, without a person's review. The rating says how the sources that were found "
    "stand to the claim; it can be wrong. Read the sources before relying on it."
)


@dataclass(frozen=True, slots=True)
class Export:
    """A document of rated claims, and the number of claims without a rating."""

    text: str
    count: int
    incomplete: int = 0
    unjudged: int = 0


def exported(
    checked: Iterable[ReportData],
    make: Callable[[ReportData, Claim, Verdict | None, ReviewAction | None], dict[str, Any] | None],
    render: Callable[[list[dict[str, Any]]], str],
    *,
    only: str | None = None,
) -> Export:
    """Build one item per rated claim, in the order of the claims in their videos.

    `make` gets the verdict and the signed ruling of a claim. It returns None if neither is a
    rating, and the result counts that claim as left out.
    """
    items: list[dict[str, Any]] = []
    incomplete = unjudged = 0
    for data in checked:
        verdicts, rulings = data.verdict_of, data.rulings
        for claim in data.claims_by_time:
            if only not in {None, claim.claim_id}:
                continue
            verdict = verdicts.get(claim.claim_id)
            item = make(data, claim, verdict, rulings.get(claim.claim_id))
            if item is not None:
                items.append(item)
            elif verdict is None:
                unjudged += 1
            else:
                incomplete += 1
    return Export(render(items), len(items), incomplete, unjudged)
