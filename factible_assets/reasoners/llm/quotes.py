"""The side that a single quote takes of a claim, told without a model.

The default `stages.ports.QuoteReader` belongs here. What becomes of a reading that its quote
contradicts does not (evidence.py, stages.evidence).
"""

from __future__ import annotations

from factible_assets.reasoners.readers.plain import side_of_text
from factible_assets.records import Stance


def side_of_quote(claim: str, quote: str, context: str) -> Stance | None:
    """Return the side that a quote takes plainly; None if it takes none.

    `context` has the page's title on its first line.
    """
    side = side_of_text(claim, quote, title=context.partition("\n")[0])
    return None if side == "unclear" else side
