"""What of a page a model is given: all that reports something, or of a long page what matters.

What belongs here: choosing sentences within a limit of characters, and marking what was left out.
What does not: what a sentence says of a claim, the fence around the excerpt (fences.py).

The choice is that of the embedded engine: its best passages first, then further ones by BM25, each
with the sentence before it, and the page's first sentences, which say what it is about. Text that
gives its reader orders is left out of every page, as the embedded engine leaves it out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from factible_assets.reasoners.embedded.embedder import TfidfEmbedder
from factible_assets.reasoners.embedded.page_text import (
    PageSentence,
    blocked_reason,
    page_sentences,
    readable,
)
from factible_assets.reasoners.embedded.reading.passages import (
    bm25_scores,
    select_passages,
    windows,
)
from factible_assets.reasoners.embedded.text import content_stems
from factible_assets.reasoners.llm.fences import OMISSION

_OPENING_SENTENCES = 2
_GAP = f"\n{OMISSION}\n"


def excerpt(claim: str, text: str, *, limit: int) -> str | None:
    """Return what a model is given of a page, None if there is nothing to read (a bot wall, …).

    Args:
        claim: The claim that the page is read for.
        text: The page's whole text.
        limit: Characters, without the marks of omission.
    """
    if blocked_reason(text):
        return None
    sentences = readable(page_sentences(text))
    if not sentences:
        return None
    if sum(len(sentence.text) + 1 for sentence in sentences) > limit:
        sentences = _most_relevant(claim, text, sentences, limit)
    return _joined(text, sentences)


def _most_relevant(
    claim: str, text: str, sentences: Sequence[PageSentence], limit: int
) -> list[PageSentence]:
    chosen: dict[int, PageSentence] = {}
    room = limit
    for sentence in _by_relevance(claim, text, sentences):
        if sentence.start not in chosen and len(sentence.text) < room:
            chosen[sentence.start] = sentence
            room -= len(sentence.text) + 1
    return [chosen[start] for start in sorted(chosen)]


def _by_relevance(
    claim: str, text: str, sentences: Sequence[PageSentence]
) -> Iterator[PageSentence]:
    """Yield the sentences of a page, those that matter most first, some of them repeatedly."""
    yield from sentences[:_OPENING_SENTENCES]
    for passage in select_passages(claim, text, "", TfidfEmbedder()).passages:
        yield from passage.sentences
        if passage.before is not None:
            yield passage.before
    candidates = windows(sentences)
    scores = bm25_scores(content_stems(claim), [content_stems(each.text) for each in candidates])
    for index in sorted(range(len(scores)), key=lambda index: (-scores[index], index)):
        yield from candidates[index].sentences


def _joined(text: str, sentences: Sequence[PageSentence]) -> str:
    """Join sentences in the text's order: as they stand where nothing was left out between."""
    parts: list[str] = []
    start, end = 0, 0
    for sentence in sentences:
        if text[end : sentence.start].strip():
            parts += [text[start:end], _GAP]
            start = sentence.start
        end = sentence.end
    parts.append(text[start:end])
    if text[end:].strip():
        parts.append(_GAP)
    return "".join(parts).strip()
