"""Finds the claims of a transcript with a language model.

Source of the method: Factible, section 1.3.2 (thesis first, thesis impact test, table 3,
guardrails). The prompt asks for the caps, and the code enforces them.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from rapidfuzz import fuzz, process

from factible_assets.reasoners.embedded.text import (
    NEGATIONS,
    content_stems,
    find_numbers,
    is_english,
    is_stop_word,
    tokenise,
    word_set,
)
from factible_assets.reasoners.llm.answers import (
    TIER_RANGES,
    ClaimsAnswer,
    MergeAnswer,
    RankedClaim,
    StatedClaim,
)
from factible_assets.reasoners.llm.conversation import Conversation, PromptTooLongOutageError
from factible_assets.reasoners.llm.plain_text import clip, plain, whole_sentences
from factible_assets.reasoners.llm.prompts import Data, Piece, ShownText
from factible_assets.records.tables import Transcript
from factible_assets.stages.localisation import Localiser
from factible_assets.stages.ports import ClaimDraft, ClaimDrafts

THESIS_WORDS = 25
CLAIM_WORDS = 40
CONTEXT_WORDS = 20
"""Lengths (Factible, sections 1.3.2 and 1.5.2)."""

CREDENTIAL_CAP = 0.30
OFF_THESIS_CAP = 0.25
"""Caps on importance (Factible, section 1.3.2, "Relevance Guardrails")."""

_CATEGORY_WORDS = 3
_CLAIM_TOKENS, _FRAME_TOKENS = 190, 160
"""Five claims with their searches fit into 1,200 tokens; more claims get more."""
_FIGURE = re.compile(r"(?<!\d[.,])\d+[.,]\d+(?![.,]?\d)|\d+")
"""A whole number or a decimal. Dates and lists such as "12.3.2020" are several figures."""
_GROUPING = re.compile(r"(?<=\d)[,.](?=\d{3}(?!\d))")
_SPACED_GROUPING = re.compile(r"(?<=\d)[,.]?\s+(?=\d{3}(?!\d))")
_WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")
_MARKS = frozenset(".,;:!?")
_CONJUNCTIONS = word_set("and but because although though while whereas unless")
_AFFIRMED = word_set(
    "only just doubt question deny denies denied dispute ignore secret surprise wonder forget "
    "know knew realise realize notice"
)
"""The statement after such a word holds though the word is denied: "there is no doubt that"."""
_STEM = 4  # Letters at the beginning of a word by which it is recognised.
_SHORTEST_NAME = 2  # Letters; a name has more.
_MOST_NAMES = 0.34  # Share of capitalised words up to which they are names.
_MISSPELT = 75.0  # Similarity, 0 to 100, from which a word is a name misspelt.
_LEAST_SHARED = 0.5  # Share of a claim's words that the transcript has near its source.
_AROUND_SOURCE = 300
"""Characters on either side of the source of a claim that may explain its pronouns."""
_MOST_CANDIDATES = 60
_HALVINGS = 2


@dataclass(frozen=True, slots=True)
class Windowing:
    """The windows of a long transcript; lengths in characters."""

    size: int
    overlap: int

    def count(self, characters: int) -> int:
        return max(1, math.ceil((characters - self.overlap) / (self.size - self.overlap)))


WINDOWS = Windowing(size=24_000, overlap=1_500)


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of a transcript, number `number` of `count`; `start` is its raw offset."""

    text: str
    start: int = 0
    number: int = 1
    count: int = 1


@dataclass(frozen=True, slots=True)
class ClaimCandidate:
    """A claim of the transcript, and the number of its window."""

    draft: ClaimDraft
    window: int
    credential: bool


Listen: TypeAlias = Callable[[Window, ClaimsAnswer], None]
"""Receives the answer about a window while the model writes it."""


async def find_claims(
    conversation: Conversation,
    transcript: Transcript,
    windowing: Windowing,
    *,
    max_claims: int,
    listen: Listen | None = None,
) -> ClaimDrafts:
    """Find the claims of a transcript, most important first.

    Windows that exceed the context of the model are halved, twice at most. Raises
    ReasonerOutageError if any window failed; `conversation` keeps the calls of all windows.
    """
    room = _FRAME_TOKENS + _CLAIM_TOKENS * max_claims

    async def read(window: Window) -> ClaimsAnswer:
        scope = "This is the whole transcript."
        if window.count > 1:
            number = f"{window.number} of {window.count}"
            scope = f"This is stretch {number} of a long transcript; the stretches overlap."
        stretch = "Its transcript:\n", Data("transcript", window.text)
        material = {"transcript": stretch, "scope": scope, "max_claims": str(max_claims)}
        listener = partial(listen, window) if listen is not None else None
        return await conversation.ask(
            "User", ClaimsAnswer, material, max_tokens=room, most=max_claims, listen=listener
        )

    answers = await _read_windows(transcript.text, windowing, read)
    candidates, refused, title = list[ClaimCandidate](), 0, conversation.video.title
    for window, answer in answers:
        in_window, unfounded = await asyncio.to_thread(_candidates, title, window, answer)
        candidates, refused = candidates + in_window, refused + unfounded
    all_distinct = _distinct(candidates)
    distinct = all_distinct[:_MOST_CANDIDATES]
    thesis = next((answer.thesis for _, answer in answers if answer.thesis.strip()), "")
    drafts = [candidate.draft for candidate in distinct]
    if len(answers) > 1 and distinct:
        material = {"stretches": _stretches(answers, distinct), "max_claims": str(max_claims)}
        merged = await conversation.ask(
            "Merge", MergeAnswer, material, max_tokens=room, most=max_claims
        )
        thesis, drafts = merged.thesis, _reranked(merged, distinct)
    drafts.sort(key=_by_importance)
    best = tuple(drafts[:max_claims])
    # If the merged claims are fewer than the limit, the missing ones are paraphrases.
    left_out = len(all_distinct) - len(best) if len(best) == max_claims else 0
    return ClaimDrafts(_thesis(thesis), best, refused, left_out)


def drafts_so_far(
    title: str, window: Window, answer: ClaimsAnswer, *, max_claims: int
) -> ClaimDrafts:
    """Return the claims of an unfinished answer that may be checked already; blocking.

    All windows together get `max_claims`, in equal shares, because the merger keeps no more. The
    first windows share what remains.
    """
    share = (max_claims + window.count - window.number) // window.count
    distinct = _distinct(_candidates(title, window, answer)[0][:share])
    return ClaimDrafts(_thesis(answer.thesis), tuple(candidate.draft for candidate in distinct))


def _thesis(written: str) -> str | None:
    return clip(plain(written), THESIS_WORDS) or None


def windows(text: str, windowing: Windowing) -> list[Window]:
    """Return equal, overlapping windows over the text; they split few words."""
    count = windowing.count(len(text))
    length = math.ceil((len(text) - windowing.overlap) / count) + windowing.overlap

    def word_start(at: int) -> int:
        if at <= 0 or at >= len(text):
            return min(at, len(text))
        reach = max(0, at - 100)
        space = max(text.rfind(" ", reach, at), text.rfind("\n", reach, at))
        return space + 1 if space > 0 else at

    starts = [index * (length - windowing.overlap) for index in range(count)]
    return [
        Window(text[word_start(at) : word_start(at + length)], word_start(at), number, count)
        for number, at in enumerate(starts, start=1)
    ]


async def _read_windows(
    text: str,
    windowing: Windowing,
    read: Callable[[Window], Awaitable[ClaimsAnswer]],
    halvings: int = _HALVINGS,
) -> list[tuple[Window, ClaimsAnswer]]:
    """Read all windows at once; wait for all, so that every paid call is recorded."""
    stretches = windows(text, windowing)
    results = await asyncio.gather(*map(read, stretches), return_exceptions=True)
    answers = [result for result in results if not isinstance(result, BaseException)]
    failure = next((result for result in results if isinstance(result, BaseException)), None)
    if failure is None:
        return list(zip(stretches, answers, strict=True))
    if not halvings or not isinstance(failure, PromptTooLongOutageError):
        raise failure
    size = min(windowing.size, len(text)) // 2
    smaller = Windowing(size, min(windowing.overlap, size // 2))
    return await _read_windows(text, smaller, read, halvings - 1)


def _importance(claim: StatedClaim | RankedClaim, *, credential: bool, expertise: bool) -> float:
    """Return the importance within the range of the tier and below the caps.

    `credential`: the claim says who somebody is. `expertise`: the thesis is about expertise.
    """
    lowest, highest = TIER_RANGES[claim.tier]
    importance = min(highest, max(lowest, claim.importance))
    if credential and not expertise:
        importance = min(importance, CREDENTIAL_CAP)
    return importance if claim.bears_on_thesis else min(importance, OFF_THESIS_CAP)


def _candidates(
    title: str, window: Window, answer: ClaimsAnswer
) -> tuple[list[ClaimCandidate], int]:
    """Return the checkable claims of a window, and the number of those that it does not contain."""
    candidates, unfounded, stretch = [], 0, window.text
    finders = ShownText(stretch), Localiser(stretch)
    for claim in answer.claims:
        source = plain(claim.source)
        worded = whole_sentences(plain(claim.text), CLAIM_WORDS) or ""
        if not worded and len(source.split()) <= CLAIM_WORDS:
            # A claim that is too long becomes its source.
            worded = source[:1].upper() + source[1:]
        if claim.kind not in {"fact", "credential"} or not worded or worded.endswith("?"):
            continue
        span = _span_of(claim.source, *finders) or _span_of(worded, *finders)
        if span is None:
            unfounded += 1
            continue
        first, last = span
        around = stretch[max(0, first - _AROUND_SOURCE) : last + _AROUND_SOURCE]
        is_said = rests_on(worded, around, f"{stretch} {title}")
        if not is_said or drops_denial(worded, stretch[first:last]):
            unfounded += 1
            continue
        credential, expertise = claim.kind == "credential", answer.thesis_is_about_expertise
        draft = ClaimDraft(
            text=worded,
            importance=_importance(claim, credential=credential, expertise=expertise),
            confidence=claim.confidence,
            category=clip(plain(claim.category), _CATEGORY_WORDS).lower().rstrip(".…") or None,
            context=clip(plain(claim.context), CONTEXT_WORDS) if claim.context else None,
            char_start=window.start + first,
            char_end=window.start + last,
            searches=tuple(claim.searches),
        )
        candidates.append(ClaimCandidate(draft, window.number, credential))
    return candidates, unfounded


def _span_of(words: str, shown: ShownText, similar: Localiser) -> tuple[int, int] | None:
    if span := shown.find(words):
        return span
    near = similar.locate(words)
    return (near.char_start, near.char_end) if near else None


def _distinct(candidates: Sequence[ClaimCandidate]) -> list[ClaimCandidate]:
    """Sort by importance and drop claims in the words of more important ones."""
    distinct: dict[tuple[str, ...], ClaimCandidate] = {}
    for candidate in sorted(candidates, key=lambda item: _by_importance(item.draft)):
        distinct.setdefault(tuple(_WORD.findall(candidate.draft.text.casefold())), candidate)
    return list(distinct.values())


def _by_importance(draft: ClaimDraft) -> tuple[float, float]:
    return -draft.importance, -draft.confidence


def rests_on(claim: str, passage: str, stretch: str) -> bool:
    """Whether the transcript contains the claim's figures, its names and half of its words.

    `passage` is the source of the claim with its surroundings; names and figures may come from all
    of `stretch`, the window and the title. The transcript may misspell names, and write figures as
    words, which are recognised in English only.
    """
    inner = _WORD.findall(claim)[1:]
    names = [word.casefold() for word in inner if word[0].isupper() and len(word) > _SHORTEST_NAME]
    # In languages that capitalise every noun, capitals do not mark names.
    names = names if len(names) <= _MOST_NAMES * len(inner) else []
    return (
        _has_figures(claim, passage, stretch)
        and _has_names(names, stretch)
        and _has_words(claim, passage, names)
    )


def _has_figures(claim: str, passage: str, stretch: str) -> bool:
    figures = _figures(stretch)
    if _figures(claim) <= figures or is_english(stretch) is False:
        return True
    # A space groups digits, or it stands between two figures. Units may differ: 3,500,000 is
    # 3.5 million.
    values = {round(number.value, 3) for number in find_numbers(stretch)}
    figures |= _figures(_SPACED_GROUPING.sub("", stretch)) | values
    remainder = claim
    for number in reversed(find_numbers(claim)):
        if round(number.value, 3) in values:
            remainder = f"{remainder[: number.start]} {remainder[number.end :]}"
    if _figures(_SPACED_GROUPING.sub("", remainder)) <= figures:
        return True
    # The speaker may have said "two and a half million".
    return any(passage[number.start].isalpha() for number in find_numbers(passage))


def _figures(text: str) -> set[float]:
    """Return the figures of a text as they are written: "3.5 million" is 3.5, "1,000" is 1000."""
    figures = _FIGURE.findall(_GROUPING.sub("", text))
    return {float(figure.replace(",", ".")) for figure in figures}


def _has_names(names: Sequence[str], stretch: str) -> bool:
    words = {word.casefold() for word in _WORD.findall(stretch)}
    beginnings = {word[:_STEM] for word in words}
    return all(
        name[:_STEM] in beginnings
        or process.extractOne(name, words, scorer=fuzz.ratio, score_cutoff=_MISSPELT)
        for name in names
    )


def _has_words(claim: str, passage: str, names: Sequence[str]) -> bool:
    near = [*(word.casefold() for word in _WORD.findall(passage)), *names]
    beginnings = {word[:length] for word in near for length in (_STEM - 1, _STEM)}
    stems = [word for word in content_stems(claim) if not word[0].isdigit()]
    shared = sum(word[:_STEM] in beginnings for word in stems)
    return shared >= _LEAST_SHARED * len(stems)


def drops_denial(claim: str, source: str) -> bool:
    """Whether an English claim asserts words that its source only uses after a negation.

    False for a claim that has words of its own, such as "fails to" or "unsafe".
    """
    if any(word.norm in NEGATIONS for word in tokenise(claim)):
        return False
    asserted, stems = set(content_stems(claim)), set(_stems_by_denial(source))
    affirmed = {stem for stem, is_denied in stems if not is_denied}
    denied = {stem for stem, is_denied in stems if is_denied} - affirmed
    return asserted <= denied | affirmed and not asserted.isdisjoint(denied)


def _stems_by_denial(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the stem of each content word, and whether a negation reaches it.

    A negation reaches to the next mark or conjunction, or only to its first content word: "no doubt
    that", "sugar, and not salt," and "without salt".
    """
    is_denied = is_of_one_word = is_first = False
    before = ""
    for word in tokenise(text):
        is_before_mark = text[word.end : word.end + 1] in _MARKS
        if word.norm in NEGATIONS:
            is_denied, is_first = not is_before_mark, True
            is_of_one_word = word.norm == "without" or (
                word.norm == "not" and (before in _CONJUNCTIONS or not is_stop_word(before))
            )
        else:
            is_denied &= word.norm not in _CONJUNCTIONS
            stems = content_stems(word.norm)
            for stem in stems:
                yield stem, is_denied
            is_affirmed = is_first and word.norm in _AFFIRMED
            is_denied &= not (is_before_mark or is_affirmed or (is_of_one_word and stems))
            is_first &= not stems
        before = word.norm


def _stretches(
    answers: Sequence[tuple[Window, ClaimsAnswer]], claims: Sequence[ClaimCandidate]
) -> list[Piece]:
    """List theses and numbered claims by stretch, one per line, so that no text forges a number."""
    pieces: list[Piece] = []
    for window, answer in answers:
        thesis = clip(plain(answer.thesis), THESIS_WORDS) or "(none)"
        lines = [
            f"{number}. {claim.draft.text}"
            for number, claim in enumerate(claims, start=1)
            if claim.window == window.number
        ]
        gap = "\n\n" if pieces else ""
        pieces += [
            f"{gap}Stretch {window.number}, its thesis and its numbered claims:\n",
            Data(f"stretch {window.number}", "\n".join([f"Thesis: {thesis}", *lines])),
        ]
    return pieces


def _reranked(merged: MergeAnswer, candidates: Sequence[ClaimCandidate]) -> list[ClaimDraft]:
    """Give the claims their importance for the whole video; ignore unknown numbers.

    The model ranks no claim that paraphrases another; that claim is dropped. If it ranks none at
    all, all claims stay unchanged.
    """
    ranked: dict[int, ClaimDraft] = {}
    for claim in merged.claims:
        if 1 <= claim.number <= len(candidates) and claim.number not in ranked:
            candidate = candidates[claim.number - 1]
            importance = _importance(
                claim, credential=candidate.credential, expertise=merged.thesis_is_about_expertise
            )
            ranked[claim.number] = replace(candidate.draft, importance=importance)
    return list(ranked.values()) or [candidate.draft for candidate in candidates]
