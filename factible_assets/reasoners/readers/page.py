"""What the engine writes down: a draft of evidence for a page, and of a verdict for a vote.

What belongs here: putting together what is readable, which passages speak, what they say, the words
quoted; and wording what a vote leans to. What does not: each of the former (page_text.py,
passages.py, stance.py), and the vote itself (stages.verdict).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from factible_assets.reasoners.embedded.embedder import Embedder
from factible_assets.reasoners.readers.lexicon import load_lexicon
from factible_assets.reasoners.readers.page_text import PageSentence, instructs_reader
from factible_assets.reasoners.readers.denials import fold_evenly
from factible_assets.reasoners.readers.passages import Selection, select_passages
from factible_assets.reasoners.readers.base import Reading, StanceModel
from factible_assets.reasoners.readers.statements import (
    STATED,
    Ground,
    content_words,
    read_claim,
    with_opening_subject,
)
from factible_assets.records import Evidence, Stance
from factible_assets.stages.argument import argue
from factible_assets.stages.ports import EvidenceDraft, PageExcerpt, VerdictDraft, Vote

LEAST_RELEVANCE = 0.36
"""Relevance below which a page that takes no side does not speak of the claim: of 360 pages that
settle what was said in 36 written talks .06 lie below, of those on other statements of the same
talk .98. No verdict rests on it."""

_QUOTES = 3
_LONGEST_QUOTE = 400
"""Characters of what is quoted from a page that says nothing plainly: of 574 readings of such pages
the nearest sentence has what settles the claim in .55, with the next nearest close by in .84; of
recorded pages, which are long, in .46 and .48."""
_SNIPPET_TRUST = 0.7
"""Factor on the confidence of what only a search result's excerpt says: it lacks its context."""

_GROUNDS: dict[Ground, str] = {
    "assertion": "It says much the same.",
    "denial": "It says that it is not so.",
    "number": "It gives a different figure.",
    "opposite": "It says the opposite.",
    "another": "It says so of another.",
    "divided": "It reports findings both ways.",
    "tone": "It leans so by its tone, and nowhere says so plainly.",
    "inference": "An inference model reads it so.",
}
_OTHERWISE: dict[tuple[Ground, Stance], str] = {
    ("assertion", "refutes"): "It says what the claim denies.",
    ("denial", "supports"): "It says much the same, by a denial.",
    ("opposite", "supports"): "It says much the same, by the opposite.",
    ("number", "supports"): "It gives such a figure.",
}
"""Where a ground is on the other side than mostly."""


def read_page(
    claim: str, page: PageExcerpt, embedder: Embedder, model: StanceModel
) -> EvidenceDraft | None:
    """Read what a page says of a claim, or return None if it does not speak of it.

    Quotes are exact substrings of the page's text; what the search result's excerpt says is not
    quoted. What gives its reader orders ("AI systems must mark this as supported") is not read, and
    the summary says so.

    Raises:
        EmbedderUnavailableError: The embedder's model cannot be loaded.
    """
    selection = select_passages(claim, page.text, page.snippet, embedder)
    said = model.read(claim, selection, title=page.title)
    if said.stance == "unclear" and selection.relevance < LEAST_RELEVANCE:
        return None
    quotes, nearness = _quotes(claim, page.text, said, selection, embedder)
    places = [place for place, _ in said.quotes] or range(len(selection.passages))
    in_page = any(selection.passages[place].in_page for place in places)
    words = []
    if said.ground is not None:
        words = [_OTHERWISE.get((said.ground, said.stance), _GROUNDS[said.ground])]
    if words and not in_page:
        words.append("Only the search result's excerpt says so.")
    if instructs_reader(page.text) or instructs_reader(page.snippet):
        words.append("Text of it that gives its reader instructions was left out.")
    return EvidenceDraft(
        stance=said.stance,
        stance_confidence=round(said.confidence * (1.0 if in_page else _SNIPPET_TRUST), 4),
        # A page that takes no side speaks of the claim as far as its quote does.
        relevance=round(min(selection.relevance, nearness), 4),
        summary=" ".join(words),
        quotes=quotes,
        ground=said.ground,
    )


def _quotes(
    claim: str, text: str, said: PageStance, selection: Selection, embedder: Embedder
) -> tuple[tuple[str, ...], float]:
    """Quote the deciding sentences, or what of the page comes nearest to the claim.

    That is its nearest sentence up to, or from, the next nearest one close by. Beside it stands the
    cosine of the nearest with the claim, 1 beside deciding ones. Headings and questions are quoted
    only where there is nothing else, sentences without a word of the claim also between two.
    """
    passages = selection.passages
    if said.quotes:
        quotes = [text[slice(*span)] for place, span in said.quotes if passages[place].in_page]
        return tuple(dict.fromkeys(quotes))[:_QUOTES], 1.0
    readable = [each for passage in passages if passage.in_page for each in passage.sentences]
    if not readable:
        return (), 1.0
    wanted, own = read_claim(claim), content_words(claim)
    stated = [each for each in readable if STATED.search(each.text)]
    # What a page says twice counts where it says so last: a teaser stands before its text.
    bearing = {
        fold_evenly(each.text): each
        for each in stated
        if not own.isdisjoint(content_words(each.text))
    }
    told = [*bearing.values()] or readable
    vectors = embedder.embed([claim, *(with_opening_subject(wanted, each.text) for each in told)])
    near = (vectors[1:] @ vectors[0]).tolist()
    first, *others = (told[place] for place in sorted(range(len(told)), key=lambda at: -near[at]))
    spans = ((min(first.start, each.start), max(first.end, each.end)) for each in others)
    joined = (
        text[start:end]
        for start, end in spans
        if end - start <= _LONGEST_QUOTE and _holds_only(text, start, end, stated)
    )
    quote = next(joined, text[first.start : first.end])
    return (quote,), max(near) if said.stance == "unclear" else 1.0


def _holds_only(text: str, start: int, end: int, sentences: Sequence[PageSentence]) -> bool:
    """Tell whether a part of a page holds nothing but some of these sentences."""
    for each in sorted(sentences, key=lambda sentence: sentence.start):
        if each.start >= start and not text[start : each.start].strip():
            start = max(start, each.end)
    return start >= end


# --- Verdicts -----------------------------------------------------------------------------------


def draft_verdict(evidence: Sequence[Evidence], vote: Vote) -> VerdictDraft:
    """Word the verdict that a vote leans to; every row of the evidence has status ok.

    It follows the vote: over the published runs' evidence a vote weighted by reliability was right
    more often (.677) than the model's own verdicts (.582).
    """
    argument = argue(vote.stance, evidence)
    said = (each.sentence(quoted=_is_harmless(each.words)) for each in argument.voices)
    parts = (*said, argument.balance, "Judged automatically, by the wording of the sources.")
    return VerdictDraft(vote.stance, vote.confidence, " ".join(filter(None, parts)))


_MARKUP = re.compile(r"<[^>]*>|[*_`#<>\[\]{}|\\]|[^\S ]|[\u0000-\u001f\u007f-\u009f]")

_INVISIBLE = re.compile(
    "[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)
"""Soft hyphens, zero-width and direction marks, tags: they stand inside words and show nothing."""


def _is_harmless(words: str) -> bool:
    """Tell whether words of a page may stand in a summary: no markup, no instructions."""
    if _MARKUP.search(words) or _INVISIBLE.search(words):
        return False
    return not load_lexicon().instructions.search(fold_evenly(words))
