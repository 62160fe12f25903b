"""Writes a signed ruling as a note for X's Community Notes.

A note has at most 280 characters and names a source by its address. A link counts as 23 characters,
as it does in posts; the rules of notes give no other number.

Source: https://docs.x.com/x-api/community-notes/quickstart, "Prepare your note".
"""

from __future__ import annotations

from typing import Final

from factible_assets.errors import FactibleError
from factible_assets.report.data import ReportData, source_links
from factible_assets.wording import plain

MOST_CHARACTERS: Final = 280
LINK_CHARACTERS: Final = 23


def community_note(data: ReportData, claim_id: str) -> str:
    """Return the reasons of the ruling on a claim, shortened, and the best source that agrees.

    Raises FactibleError: Nobody has signed a ruling, or no source with its stance has an address.
    """
    ruling = data.rulings.get(claim_id)
    if ruling is None:
        raise FactibleError("Nobody has signed a ruling on this claim.", "Sign one first.")
    links = source_links(data, data.evidence)
    sources = [
        source
        for source in data.evidence
        if source.claim_id == claim_id
        and source.stance == ruling.stance
        and links[source.evidence_id] is not None
    ]
    if not sources:
        raise FactibleError(
            "A note needs the address of a source, and no source that was read agrees with the "
            "ruling.",
            "Add such a source to the claim and check it again.",
        )
    best = max(sources, key=lambda each: (each.rating_score or 0, each.relevance or 0))
    words, limit = plain(ruling.reason or ""), MOST_CHARACTERS - LINK_CHARACTERS - 1
    if len(words) > limit:
        end = max(words.rfind(mark, 0, limit) for mark in (". ", "! ", "? "))
        words = words[: end + 1] if end > 0 else plain(words, limit)
    return f"{words}\n{links[best.evidence_id]}"
