"""What pages say of one claim, as a language model reads them: several in one call.

What belongs here: choosing what of a page a model is given, asking, holding each reading against
its own page, and asking again, alone, for one that is missing or quotes what its page does not say.
What does not: which pages are read together (calls.py), the words of the prompts
(prompts/evidence.md, and prompts/condense.md where something is sought beside the claim), what
becomes of a stance without a quote (stages.evidence, which counts and rejects).

Source of the method: Factible, section 1.3.4, step 4 (stances, qualifiers, time, mere discussion).

A model is given all of a short page, and of a long one what speaks of the claim; nothing is
withheld for its words, but lines that stand on the page already are left out. Sentences are ranked
by their words in common with the claim (character n-grams by BM25, alone and with their neighbours,
so that inflected forms, cognates and languages without spaces count), by nearness to the excerpt
that the search showed, the choice of whoever saw more pages, and by how early they stand. Sentence
embeddings keep no more of what decides and took half of a check's CPU.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

import numpy as np
import numpy.typing as npt

from factible_assets.reasoners.embedded.embedder import minilm
from factible_assets.reasoners.embedded.text import STOP_WORDS, content_stems, is_english
from factible_assets.reasoners.llm.answers import EvidenceAnswer, Reading
from factible_assets.reasoners.llm.calls import Desk
from factible_assets.reasoners.llm.prompts import OMISSION, Data, Piece, ShownText, cut, title_line
from factible_assets.reasoners.llm.wording import clip, plain
from factible_assets.reasoners.readers.page_text import PageSentence, page_sentences
from factible_assets.reasoners.readers.passages import bm25_scores
from factible_assets.records import Claim, Query, Video
from factible_assets.stages.evidence import QuoteFinder
from factible_assets.stages.ports import EvidenceDraft, PageExcerpt, ReasonerOutageError
from factible_assets.stages.verdict import DEFINITE

SUMMARY_WORDS = 60
_MOST_QUOTES = 3
_FRAME_TOKENS, _READING_TOKENS = 100, 320
"""A reading has a summary and two quotes, of 60 words each at most."""
_UNRELATED = 0.25
"""Likeness (cosine of MiniLM's vectors) to its claim below which a quote without a word of it shows
nothing of it. So are none of 200 recorded quotes, and three quarters of them for claims of other
videos (`benchmarks.tokens`), as small models give them."""
_BEFORE = 300
"""Characters before a quote that may say what it speaks of."""


@dataclass(frozen=True, slots=True)
class Source:
    """One page, the claim that it is read for and its video, and the query that found it.

    `shown` is what of the page a model is given; None if there is nothing to read. It is worked
    out while other pages are still on their way.
    """

    video: Video
    claim: Claim
    query: Query
    page: PageExcerpt
    shown: Awaitable[str | None]


def begin_excerpt(claim: Claim, page: PageExcerpt, limit: int) -> Awaitable[str | None]:
    """Begin to choose, in a thread, what of a page a model is given: `limit` characters of it."""
    wanted = " ".join(filter(None, (claim.text, page.sought)))
    choose = partial(excerpt, limit=limit, snippet=page.snippet)
    return asyncio.get_running_loop().run_in_executor(None, choose, wanted, page.text)


async def ask_readings(
    desk: Desk, sources: Sequence[Source], repaired: tuple[Reading, Sequence[str]] | None = None
) -> dict[int, Reading]:
    """Ask about the sources of one claim in one call; return the readings by their source's place.

    `repaired` is a reading that is asked for again, and what it quoted that stands nowhere.
    """
    shown = [(place, await source.shown) for place, source in enumerate(sources)]
    readable = [(place, words) for place, words in shown if words is not None]
    if not readable:
        return {}
    pieces: list[Piece] = []
    for number, (place, words) in enumerate(readable, start=1):
        page = sources[place].page
        day = f"of {page.published_on.isoformat()}" if page.published_on else "of unknown date"
        title, gap = title_line(page.title) or "(none)", "\n" if number > 1 else ""
        pieces += [
            f"{gap}Source {number}, {day}:\n",
            Data(f"source {number}", f"Title: {title}\n{words}", trimmable=True),
        ]
    section, material = "User", dict[str, Piece | Sequence[Piece]](sources=pieces)
    if sought := sources[0].page.sought:
        material["sought"] = ("Looked for:\n", Data("looked for", sought))
    if repaired is not None:
        reading, misquotes = repaired
        quoted = "\n".join(cut(plain(quote)) for quote in misquotes) or "(none)"
        section, material["stance"] = "Repair", reading.stance
        material["misquotes"] = Data("what you quoted", quoted)
    room = max(desk.stage.max_tokens, _FRAME_TOKENS + _READING_TOKENS * len(readable))
    answer = await desk.ask(
        section, EvidenceAnswer, max_tokens=room, most=len(readable), **material
    )
    readings: dict[int, Reading] = {}
    for given in answer.readings:
        if 1 <= given.source <= len(readable):
            readings.setdefault(readable[given.source - 1][0], given)
    return readings


async def settle_reading(
    desk: Desk, source: Source, reading: Reading | None
) -> EvidenceDraft | None:
    """Hold a reading against its page; None if the page does not speak of the claim.

    A reading that is missing, or takes a side with no quote that stands in its page, is asked for
    once more and alone. Raises ReasonerOutageError if there is none.
    """
    if await source.shown is None:
        return None
    text, misquotes, again = source.page.text, list[str](), reading is None
    if reading is None and not desk.calls:  # it was not asked about alone
        reading = (await ask_readings(desk, [source])).get(0)
    if reading is None:
        raise ReasonerOutageError("The model gave no reading of the page.", desk.calls)
    standing, missing = await asyncio.to_thread(_looked_up, reading, text)
    takes_side = reading.addresses_claim and reading.stance in DEFINITE
    if takes_side and not standing and not again:
        misquotes = missing
        readings = await ask_readings(desk, [source], (reading, misquotes))
        reading = readings.get(0, reading)
        standing, missing = await asyncio.to_thread(_looked_up, reading, text)
    if not reading.addresses_claim:
        return None
    wanted = " ".join(filter(None, (source.claim.text, source.page.sought)))
    spoken = source.video.language or ""
    bearing = await asyncio.to_thread(bearing_on, wanted, standing, text, spoken)
    # What stands nowhere is offered all the same, so that the stage rejects and counts it.
    offered = dict.fromkeys((*bearing, *missing, *misquotes))
    return EvidenceDraft(
        stance=reading.stance,
        stance_confidence=reading.stance_confidence,
        relevance=reading.relevance,
        summary=clip(plain(reading.summary), SUMMARY_WORDS),
        quotes=tuple(offered),
    )


def _looked_up(reading: Reading, text: str) -> tuple[list[str], list[str]]:
    """Return what quotes are in the raw text, also as the model was shown it, and the others."""
    finder, shown = QuoteFinder(text), ShownText(text)
    standing, missing = [], []
    for quote in [quote for quote in reading.quotes if quote.strip()][:_MOST_QUOTES]:
        if place := finder.find(quote) or shown.find(quote):
            standing.append(text[slice(*place)])
        else:
            missing.append(quote)
    return standing, missing


def bearing_on(claim: str, quotes: Sequence[str], text: str, spoken: str) -> list[str]:
    """Return the quotes of a page that can speak of a claim; in other languages than English, all.

    What stands before a quote in its page is heard too: "There is no evidence for that." `spoken`
    is the code of the video's language, "" where nobody told.
    """
    stems = set(content_stems(claim))
    strange = [quote for quote in quotes if stems.isdisjoint(content_stems(quote))]
    is_english_talk = spoken.startswith("en") or is_english(claim, fewest=1)
    if not (strange and is_english_talk and is_english(text, fewest=1)):
        return [*quotes]
    places = [text.find(quote) for quote in strange]
    before = [text[max(0, at - _BEFORE) : at] for at in places]
    sought, *vectors = minilm().embed([claim, *strange, *map(str.__add__, before, strange)])
    near = dict.fromkeys(strange, -1.0)
    for quote, vector in zip((*strange, *strange), vectors, strict=True):
        near[quote] = max(near[quote], float(vector @ sought))
    return [quote for quote in quotes if near.get(quote, 1.0) >= _UNRELATED]


# --- What of a page is shown --------------------------------------------------------------------

Scores = npt.NDArray[np.float64]

_GRAM = 4
_WORD = re.compile(r"\w+")
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
)
"""Thai, Lao, Burmese, Khmer, Japanese, Chinese."""
_GAP = f" {OMISSION} "
_AROUND = 2
"""Sentences before and after one whose words speak for it too: of 200 recorded quotes
(`benchmarks.tokens`) 1 to 6 more stay than with one, at each limit."""
_LEAD = 0.1
"""What the first sentence of a page is worth beside the last: pages begin with what they say. Up to
.3 as many quotes stay."""
_SHORT, _LONG = 6, 35
"""Words of a sentence that says little, and of one that takes the room of two."""


def excerpt(claim: str, text: str, *, limit: int, snippet: str = "") -> str | None:
    """Return what a model is given of a page, None if there is nothing to read.

    `limit` counts characters without the marks of omission, `snippet` is what the search showed.
    """
    sentences = _once(page_sentences(text))
    if sum(len(sentence.text) + 1 for sentence in sentences) > limit:
        room, chosen = limit, set[int]()
        for at in np.argsort(-_relevance(claim, snippet, sentences), kind="stable"):
            if len(sentences[at].text) < room:
                chosen.add(int(at))
                room -= len(sentences[at].text) + 1
        sentences = [sentences[at] for at in sorted(chosen)]
    return _joined(text, sentences)


def _once(sentences: Sequence[PageSentence]) -> list[PageSentence]:
    """Leave out lines that repeat an earlier one, such as menus and captions."""
    lines: dict[int, list[PageSentence]] = {}
    for sentence in sentences:
        lines.setdefault(sentence.paragraph, []).append(sentence)
    distinct: dict[str, list[PageSentence]] = {}
    for line in lines.values():
        distinct.setdefault(" ".join(each.text for each in line), line)
    return [sentence for line in distinct.values() for sentence in line]


def _relevance(claim: str, snippet: str, sentences: Sequence[PageSentence]) -> Scores:
    """Return how likely each sentence speaks of a claim, by its words; only the order counts."""

    def scaled(asked: list[str], offered: Sequence[list[str]]) -> Scores:
        found = np.array(bm25_scores(asked, offered), dtype=np.float64)
        return found / (found.max(initial=0.0) or 1.0)

    grams = [_grams(sentence.text) for sentence in sentences]
    around = [
        list(chain(*grams[max(0, at - _AROUND) : at + _AROUND + 1])) for at in range(len(grams))
    ]
    wanted = _grams(claim)
    words = 0.5 * scaled(wanted, grams) + 0.5 * scaled(wanted, around)
    shown = 0.2 * scaled(_grams(snippet), grams)
    lengths = np.array([len(sentence.text.split()) for sentence in sentences])
    unhandy = (lengths < _SHORT) | (lengths > _LONG)
    lead = _LEAD * np.linspace(1, 0, len(sentences))
    scores: Scores = words + shown + lead - 0.5 * unhandy
    return scores


def _grams(text: str) -> list[str]:
    """Return the pieces of a text's words: four letters each, two where words are not spaced."""
    pieces = []
    for word in _WORD.findall(text.casefold()):
        if word in STOP_WORDS:
            continue
        size, marked = (2, word) if _UNSPACED.search(word) else (_GRAM, f" {word} ")
        pieces += [marked[at : at + size] for at in range(max(1, len(marked) - size + 1))]
    return pieces


def _joined(text: str, sentences: Sequence[PageSentence]) -> str | None:
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
    return "".join(parts).strip() or None
