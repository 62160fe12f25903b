"""Which side a single quote takes of a claim, told without a model.

What belongs here: the default `stages.ports.QuoteReader`. What does not: what becomes of a reading
that its quote contradicts (evidence.py, stages.evidence).
"""

from __future__ import annotations

from factible_assets.reasoners.embedded.embedder import minilm
from factible_assets.reasoners.embedded.page_text import page_sentences
from factible_assets.reasoners.embedded.reading.passages import Passage
from factible_assets.reasoners.embedded.reading.statements import read_claim, read_statements
from factible_assets.records import Stance

_OWN_GROUNDS = frozenset({"assertion", "denial", "number", "opposite"})


def side_of_quote(claim: str, quote: str, context: str) -> Stance | None:
    """Return the side that a quote's statements take of a claim; None without any or with several.

    Only statements of the claim itself count, not what is said of another in its place. Of 214
    recorded quotes it contradicts none. Blocking: the first call loads the embedding model.
    """
    sentences = tuple(page_sentences(quote))
    if not sentences:
        return None
    title = context.partition("\n")[0]
    heard = read_statements(read_claim(claim), [Passage(sentences)], title, minilm())
    sides = {each.side for each in heard.decisions if each.ground in _OWN_GROUNDS}
    return sides.pop() if len(sides) == 1 else None
