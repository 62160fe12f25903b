"""What a page says of one claim, as a language model reads it.

What belongs here: choosing the sentences of a page that a model is shown, asking, and holding each
reading against its own page. What does not: several pages in one call (joint.py), the words of the
prompts (prompts/evidence.md, and prompts/condense.md where something is sought beside the claim),
the final word on a stance without a quote (stages.evidence).

Source of the method: Factible, section 1.3.4, step 4 (stances, qualifiers, time, mere discussion).

Every page is read alone unless a run says otherwise: a small model that reads several pages in one
call copies summaries and quotes from page to page. A page is shown as numbered sentences, and the
model quotes by number. So a stored quote is exact by construction, nothing of the title can be
quoted, and an answer is short. A reading rests on its quotes: they have to bear on the claim, and
must not say the contrary of the stance. A reading that breaks either is asked for once more.

A model is shown all of a short page, and of a long one the sentences that speak of the claim. They
are ranked by their words in common with the claim (character n-grams by BM25, alone and with their
neighbours, so that inflected forms, cognates and languages without spaces count), by nearness to
the excerpt that the search showed, and by how early they stand. Sentence embeddings keep no more of
what decides. They do tell which pages say nothing of a claim: those cost no call.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise

import numpy as np
import numpy.typing as npt

from factible_assets.reasoners.embedded.embedder import minilm
from factible_assets.reasoners.embedded.text import STOP_WORDS, is_english
from factible_assets.reasoners.llm.answers import Reading
from factible_assets.reasoners.llm.calls import Conversation, Material
from factible_assets.reasoners.llm.prompts import Data, Piece, title_line
from factible_assets.reasoners.llm.wording import clip, plain
from factible_assets.reasoners.readers.page_text import PageSentence, page_sentences
from factible_assets.reasoners.readers.passages import bm25_scores
from factible_assets.records import Claim, Query, Video
from factible_assets.stages.ports import EvidenceDraft, PageExcerpt, QuoteReader
from factible_assets.stances import DEFINITE

SUMMARY_WORDS = 60
_MOST_QUOTES = 3
_UNRELATED = 0.25
"""Likeness (cosine of MiniLM's vectors) to its claim below which a quote shows nothing of it:
none of 214 recorded ones, and 80 % of them for claims of other videos (`benchmarks.tokens`)."""
_SILENT = 0.38
"""Likeness to its claim below which no sentence of a page speaks of it. Chosen on half of the
recorded videos: 24 of their 34 readings without a finding lie below it and 1 of their 129 findings,
of the other half 6 of 9 and 1 of 152."""
_CANDIDATES = 6
"""Sentences, nearest to the claim by their words, whose likeness to it is looked at."""
_BEFORE = 300
"""Characters before a quote that may say what it speaks of."""


@dataclass(frozen=True, slots=True)
class ReadingTask:
    """One page, the claim that it is read for and its video, and the query that found it.

    `shown` is worked out while other pages are still on their way. It is None if the page says
    nothing of the claim.
    """

    video: Video
    claim: Claim
    query: Query
    page: PageExcerpt
    shown: Awaitable[ShownPage | None]


@dataclass(frozen=True, slots=True)
class ShownPage:
    """The sentences of a page that a model is shown, by their numbers, which count from 1."""

    page: PageExcerpt
    sentences: Mapping[int, PageSentence]

    def pieces(self, source: int = 1, first: int = 0) -> list[Piece]:
        """Return the page for a prompt. `first` is added to each sentence's number."""
        day = self.page.published_on.isoformat() if self.page.published_on else "unknown date"
        lines = [f"Title: {title_line(self.page.title) or '(none)'}"]
        lines += [" ".join(each.text.split()) for each in self.sentences.values()]
        marks = ("", *(str(first + number) for number in self.sentences))
        words = Data(f"source {source}", "\n".join(lines), trimmable=True, marks=marks)
        return [f"Source {source}, of {day}:\n", words]

    def quotes(self, numbers: Sequence[int]) -> list[str]:
        """Return the passages of some sentences, the first named first, neighbours as one.

        A number that no sentence has is returned as such, so that the stage rejects and counts it.
        """
        runs: list[list[int]] = []
        for number in dict.fromkeys(numbers):
            beside = next((run for run in runs if self._continues(run, number)), None)
            if beside is None:
                runs.append([number])
            else:
                beside.append(number)
        return [self._passage(run) for run in runs[:_MOST_QUOTES]]

    def _continues(self, run: list[int], number: int) -> bool:
        both = sorted((*run, number))
        if any(each not in self.sentences for each in both) or both[-1] - both[0] >= len(both):
            return False
        ends = [self.sentences[each] for each in both]
        gaps = (self.page.text[a.end : b.start] for a, b in pairwise(ends))
        return not any(gap.strip() for gap in gaps)

    def _passage(self, run: list[int]) -> str:
        found = [self.sentences[each] for each in sorted(run) if each in self.sentences]
        return self.page.text[found[0].start : found[-1].end] if found else f"sentence {run[0]}"


def begin_showing(claim: Claim, page: PageExcerpt, limit: int) -> Awaitable[ShownPage | None]:
    """Begin to choose, in a thread, the sentences that a model is shown: `limit` characters."""
    return asyncio.get_running_loop().run_in_executor(None, partial(show, claim, page, limit=limit))


def show(claim: Claim, page: PageExcerpt, *, limit: int) -> ShownPage | None:
    """Choose the sentences of a page that a model is shown; None if none speaks of the claim."""
    wanted = " ".join(filter(None, (claim.text, page.sought)))
    sentences = chosen_sentences(wanted, page.text, limit=limit, snippet=page.snippet)
    if not sentences or is_silent(wanted, page, list(sentences.values())):
        return None
    return ShownPage(page, sentences)


def is_silent(claim: str, page: PageExcerpt, sentences: Sequence[PageSentence]) -> bool:
    """Tell whether no sentence of a page speaks of a claim; False in other languages than English.

    Blocking: the first call loads the embedding model.
    """
    if not (is_english(claim, fewest=1) and is_english(page.text, fewest=1)):
        return False
    order = np.argsort(-_relevance(claim, page.snippet, sentences), kind="stable")
    nearest = [sentences[at].text for at in order[:_CANDIDATES]]
    sought, *vectors = minilm().embed([claim, *nearest])
    return max(float(vector @ sought) for vector in vectors) < _SILENT


# --- Asking -------------------------------------------------------------------------------------


async def read_alone(
    talk: Conversation, source: ReadingTask, side_of: QuoteReader
) -> EvidenceDraft | None:
    """Ask what a page says of a claim; None if it does not speak of it.

    Raises ReasonerOutageError if the model failed, ReasonerRefusalError if it declined.
    """
    shown = await source.shown
    if shown is None:
        return None
    reading = await talk.ask("User", Reading, _material(source, shown))
    return await settle(talk, source, shown, reading, side_of)


def _material(source: ReadingTask, shown: ShownPage) -> Material:
    material: dict[str, Piece | Sequence[Piece]] = {"source": shown.pieces()}
    if source.page.sought:
        material["sought"] = ("Looked for:\n", Data("looked for", source.page.sought))
    return material


async def settle(
    talk: Conversation,
    source: ReadingTask,
    shown: ShownPage,
    reading: Reading,
    side_of: QuoteReader,
) -> EvidenceDraft | None:
    """Hold a reading against its page; None if the page does not speak of the claim.

    A reading whose side rests on no sentence of the page, or on one that says the contrary, is
    asked for once more, and alone. The second reading counts, but no stance does that its own quote
    contradicts.
    """
    check = partial(_checked, source, shown, side_of=side_of)
    quotes, problem = await asyncio.to_thread(check, reading)
    if problem is not None:
        again = {**_material(source, shown), "stance": reading.stance, "problem": problem}
        reading = await talk.ask("Repair", Reading, again)
        quotes, problem = await asyncio.to_thread(check, reading)
    if reading.stance == "silent":
        return None
    return EvidenceDraft(
        stance=reading.stance,
        stance_confidence=reading.confidence,
        relevance=reading.relevance,
        summary=clip(plain(reading.summary), SUMMARY_WORDS),
        quotes=tuple(quotes),
        contradicted=problem == _CONTRARY,
    )


_NOTHING = "none of its sentences that you named bears that"
_CONTRARY = "the sentence that you named first says the contrary"


def _checked(
    source: ReadingTask, shown: ShownPage, reading: Reading, *, side_of: QuoteReader
) -> tuple[list[str], str | None]:
    """Return the quotes of a reading, the best first, and the problem with it, if there is one."""
    offered = shown.quotes(reading.sentences)
    if reading.stance not in DEFINITE:
        return offered, None
    claim = source.claim.text
    wanted = " ".join(filter(None, (claim, source.page.sought)))
    text = source.page.text
    standing = [quote for quote in offered if quote in text]
    quotes = bearing_on(wanted, standing, text, source.video.language or "")
    wrong = [quote for quote in offered if quote not in text]
    if not quotes:
        return wrong, None if standing else _NOTHING
    opposite = {"supports": "refutes", "refutes": "supports"}.get(reading.stance)
    sides = {quote: side_of(claim, quote, _context(source.page, quote)) for quote in quotes}
    # The quote that bears the stance most plainly goes first.
    quotes.sort(key=lambda quote: sides[quote] != reading.stance)
    is_contrary = opposite is not None and sides[quotes[0]] == opposite
    return [*quotes, *wrong], _CONTRARY if is_contrary else None


def _context(page: PageExcerpt, quote: str) -> str:
    at = page.text.find(quote)
    return f"{title_line(page.title)}\n{page.text[max(0, at - _BEFORE) : at]}"


def bearing_on(claim: str, quotes: Sequence[str], text: str, spoken: str) -> list[str]:
    """Return the quotes of a page that can speak of a claim; in other languages than English, all.

    What stands before a quote in its page is heard too: "There is no evidence for that." `spoken`
    is the code of the video's language, "" where nobody told.
    """
    is_english_talk = spoken.startswith("en") or is_english(claim, fewest=1)
    if not (quotes and is_english_talk and is_english(text, fewest=1)):
        return [*quotes]
    places = [text.find(quote) for quote in quotes]
    before = [text[max(0, at - _BEFORE) : at] for at in places]
    sought, *vectors = minilm().embed([claim, *quotes, *map(str.__add__, before, quotes)])
    near = [float(vector @ sought) for vector in vectors]
    likeness = map(max, near[: len(quotes)], near[len(quotes) :])
    return [quote for quote, like in zip(quotes, likeness, strict=True) if like >= _UNRELATED]


# --- What of a page is shown --------------------------------------------------------------------

Scores = npt.NDArray[np.float64]

_GRAM = 4
_WORD = re.compile(r"\w+")
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
)
"""Thai, Lao, Burmese, Khmer, Japanese, Chinese."""
_AROUND = 2
"""Sentences before and after one whose words speak for it too: of 200 recorded quotes
(`benchmarks.tokens`) 1 to 6 more stay than with one, at each limit."""
_LEAD = 0.1
"""What the first sentence of a page is worth beside the last: pages begin with what they say. Up to
.3 as many quotes stay."""
_SHORT, _LONG = 6, 35
"""Words of a sentence that says little, and of one that takes the room of two."""
_SHORT_PAGE = 600
"""Characters up to which a page is shown whole."""
_LEAST_SHARE = 0.28
"""Of the best sentence's score: a sentence that scores less is left out. Chosen on half of the
recorded videos, where .90 of the quotes stay, as many as with .27; of the other half .936 stay."""


def chosen_sentences(
    claim: str, text: str, *, limit: int, snippet: str = ""
) -> dict[int, PageSentence]:
    """Return the sentences of a page that a model is shown, by number, in the page's order.

    Numbers count the sentences of the page from 1, so a gap in them tells that something was left
    out. Of a long page at most `limit` characters are chosen, and after the first six hundred only
    sentences that speak of the claim. `snippet` is the excerpt that the search showed.
    """
    sentences = dict(enumerate(_once(page_sentences(text)), start=1))
    if sum(len(each.text) + 1 for each in sentences.values()) <= _SHORT_PAGE:
        return sentences
    values = _relevance(claim, snippet, list(sentences.values()))
    scores = dict(zip(sentences, values.tolist(), strict=True))
    least, taken, chosen = _LEAST_SHARE * max(scores.values()), 0, set[int]()
    for number in sorted(sentences, key=lambda each: (-scores[each], each)):
        if taken >= _SHORT_PAGE and scores[number] < least:
            break
        size = len(sentences[number].text) + 1
        if taken + size <= limit:
            chosen.add(number)
            taken += size
    return {number: each for number, each in sentences.items() if number in chosen}


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
