"""The claims of a transcript, as a language model finds them.

What belongs here: reading a transcript, long ones in overlapping windows, and what of the answers
is believed: tiers, caps, lengths, and that the claim was said at all. What does not: the words of
the prompt (prompts/claims.md), ids, ranks and times (stages.claims).

Source of the method: Factible, section 1.3.2 (thesis first, thesis impact test, table 3,
guardrails). The caps are asked for in the prompt and kept in code.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rapidfuzz import fuzz, process, utils

from factible_assets.reasoners.embedded.text import content_stems
from factible_assets.reasoners.llm.answers import (
    TIER_RANGES,
    ClaimsAnswer,
    MergeAnswer,
    RankedClaim,
    StatedClaim,
)
from factible_assets.reasoners.llm.calls import Conversation, PromptTooLongOutageError
from factible_assets.reasoners.llm.prompts import Data, Piece, ShownText
from factible_assets.reasoners.llm.wording import clip, plain, whole_sentences
from factible_assets.records import Transcript
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
"""An answer of five claims, with their searches, fits into 1,200 tokens; more claims get more."""
_PARAPHRASE = 85.0  # Ratio of the sorted words, of 100, from which two claims say the same.
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
_NEGATION = re.compile(
    r"\b(?:no|not|never|none|nor|neither|without|cannot|\w+n't|nicht|kein\w*|nie|niemals|ohne|ne|pas"
    r"|jamais|sans|sin|nunca|ning[uú]n\w*|não|nem|sem|non|mai|senza|niet|geen|nooit|inte|ej|utan|ikke"
    r"|bez|değil|yok|не|нет|ни|без|لا|ليس\w*|لم|لن)\b|[不没沒無无未]|ない|ません"
    r"|않|없|아니|못|नहीं|बिना",
    re.IGNORECASE,
)
_COMPARES = re.compile(
    r"\b(?:than|before|after|from|als|nach|vor|que|avant|après|antes|después|depois|dopo|prima"
    r"|dan|voor|än|efter|före|niż|przed|чем|до|после)\b|比|より|보다",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")
_WORD_OR_MARK = re.compile(rf"{_WORD.pattern}|[.,;:!?]")
_BUT = frozenset({"only", "just", "nur", "seulement", "solo", "sólo"})
"""Words behind a negation that make none of it: "not only"."""
_SPOKEN_NUMBER = re.compile(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|\w+ty|hundreds?"
    r"|thousands?|millions?|billions?|trillions?|half|third|quarter|dozen|double|twice|first|second"
    r"|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|\w*hundert|\w*tausend|million\w*|halb\w*"
    r"|deux|trois|quatre|cinq|sept|huit|neuf|dix|vingt|trente|cent|mille|dos|tres|cuatro|cinco"
    r"|siete|ocho|nueve|diez|veinte|treinta|cien\w*|mil|mill[oó]n\w*|mitad|moitié)\b",
    re.IGNORECASE,
)
_BETWEEN_DIGITS = re.compile(r"(?<=\d)[\s,.]+(?=\d)")
_STEM = 4
_SHORTEST_NAME = 2
_MOST_NAMES = 0.34
_MISSPELT = 75.0
_LEAST_SHARED = 0.5
_OF_THE_VIDEO = re.compile(
    r"(?:in (?:the|this) (?:video|talk|transcript), )?"
    r"(?:the|this) (?:video|talk|transcript|speaker|narrator|host|presenter) (?:also )?"
    r"(?:(?P<said>(?:say|state|claim|explain|note|argue|suggest|mention|show)s? that"
    r"|(?:say|state|claim)s|(?:describe|discusse|explain|show|highlight)s? how(?! (?:to|much|many"
    r"|long|far|often|well|old|big|important|bad|good|easy|hard|difficult|fast|quickly)\b)),?"
    r"|(?:mention|discusse|describe|emphasi[sz]e|highlight|present|introduce|cover|talks? about"
    r"|explain|show)s?)\s+",
    re.IGNORECASE,
)
"""How small models begin a claim, although they are told to state what was said."""
_AROUND_SOURCE = 300
"""Characters on either side of a claim's source in which its pronouns may be resolved."""
_MOST_CANDIDATES = 60
_HALVINGS = 2


@dataclass(frozen=True, slots=True)
class Windowing:
    """How a long transcript is cut, in characters."""

    size: int
    overlap: int

    def count(self, characters: int) -> int:
        """Return in how many windows a text of so many characters is read."""
        return max(1, math.ceil((characters - self.overlap) / (self.size - self.overlap)))


WINDOWS = Windowing(size=24_000, overlap=1_500)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A claim that was found in the transcript; `stretch` counts the windows from 1."""

    draft: ClaimDraft
    stretch: int
    credential: bool


async def find_claims(
    talk: Conversation, transcript: Transcript, windowing: Windowing, *, max_claims: int
) -> ClaimDrafts:
    """Find the claims of a transcript, most important first.

    Windows that are too long for the model are cut smaller, twice at most. Raises
    ReasonerOutageError if the model failed for any window; `talk` has the calls of all.
    """
    spans, answers = await _read_fitting(talk, transcript.text, windowing, max_claims)
    found, refused = await asyncio.to_thread(
        _candidates, transcript.text, talk.video.title, spans, answers
    )
    distinct = _distinct(found)[:_MOST_CANDIDATES]
    thesis = next((answer.thesis for answer in answers if answer.thesis.strip()), "")
    drafts = [each.draft for each in distinct]
    if len(spans) > 1 and distinct:
        merged = await talk.ask(
            "Merge",
            MergeAnswer,
            {"stretches": _stretches(answers, distinct), "max_claims": str(max_claims)},
            max_tokens=_tokens(talk, max_claims),
            most=max_claims,
        )
        thesis, drafts = merged.thesis, _reranked(merged, distinct)
    drafts.sort(key=lambda draft: (-draft.importance, -draft.confidence))
    worded = clip(plain(thesis), THESIS_WORDS) or None
    left_out = max(0, len(drafts) - max_claims)
    return ClaimDrafts(worded, tuple(drafts[:max_claims]), refused, left_out)


def windows(text: str, windowing: Windowing) -> list[tuple[int, int]]:
    """Return the raw spans of equal windows that overlap, cover the text and split few words."""
    count = windowing.count(len(text))
    if count == 1:
        return [(0, len(text))]
    length = math.ceil((len(text) - windowing.overlap) / count) + windowing.overlap
    starts = [index * (length - windowing.overlap) for index in range(count)]

    def word_start(at: int) -> int:
        if at <= 0 or at >= len(text):
            return min(at, len(text))
        reach = max(0, at - 100)
        space = max(text.rfind(" ", reach, at), text.rfind("\n", reach, at))
        return space + 1 if space > 0 else at

    return [(word_start(start), word_start(start + length)) for start in starts]


async def _read_fitting(
    talk: Conversation, text: str, windowing: Windowing, max_claims: int
) -> tuple[list[tuple[int, int]], list[ClaimsAnswer]]:
    """Read all windows at once. All are waited for, so that no paid call goes unrecorded."""
    for halving in range(_HALVINGS + 1):
        spans = windows(text, windowing)
        scopes = ["This is the whole transcript."]
        if len(spans) > 1:
            scopes = [
                f"This is stretch {place} of {len(spans)} of a long transcript; the stretches "
                "overlap."
                for place in range(1, len(spans) + 1)
            ]
        asked = [
            talk.ask(
                "User",
                ClaimsAnswer,
                {
                    "transcript": ("Its transcript:\n", Data("transcript", text[start:end])),
                    "scope": scope,
                    "max_claims": str(max_claims),
                },
                max_tokens=_tokens(talk, max_claims),
                most=max_claims,
            )
            for scope, (start, end) in zip(scopes, spans, strict=True)
        ]
        results = await asyncio.gather(*asked, return_exceptions=True)
        failures = [each for each in results if isinstance(each, BaseException)]
        if not failures:
            return spans, [each for each in results if not isinstance(each, BaseException)]
        if halving == _HALVINGS or not isinstance(failures[0], PromptTooLongOutageError):
            raise failures[0]
        size = min(windowing.size, len(text)) // 2
        windowing = Windowing(size, min(windowing.overlap, size // 2))
    raise AssertionError


def _tokens(talk: Conversation, max_claims: int) -> int:
    return max(talk.stage.max_tokens, _FRAME_TOKENS + _CLAIM_TOKENS * max_claims)


def importance_of(claim: StatedClaim | RankedClaim, *, credential: bool, expertise: bool) -> float:
    """Return a claim's importance inside the range of its tier and below its caps.

    `credential`: it says who somebody is. `expertise`: the thesis is about somebody's expertise.
    """
    lowest, highest = TIER_RANGES[claim.tier]
    importance = min(highest, max(lowest, claim.importance))
    if credential and not expertise:
        importance = min(importance, CREDENTIAL_CAP)
    return importance if claim.bears_on_thesis else min(importance, OFF_THESIS_CAP)


def _candidates(
    text: str, title: str, spans: Sequence[tuple[int, int]], answers: Sequence[ClaimsAnswer]
) -> tuple[list[Candidate], int]:
    """Return the claims that can be checked and were said, and how many others were not said."""
    found, refused = [], 0
    for stretch, ((start, end), answer) in enumerate(zip(spans, answers, strict=True), start=1):
        window = text[start:end]
        shown, similar = ShownText(window), Localiser(window)

        def place_of(words: str) -> tuple[int, int] | None:
            if found := shown.find(words):  # noqa: B023 - asked before the next window
                return found
            near = similar.locate(words)  # noqa: B023
            return (near.char_start, near.char_end) if near else None

        for claim in answer.claims:
            source = plain(claim.source)
            # One that is too long is shortened without changing what it says, or given up.
            short = source if len(source.split()) <= CLAIM_WORDS else ""
            worded = whole_sentences(plain(claim.text), CLAIM_WORDS) or short
            told = _OF_THE_VIDEO.match(worded)
            if told:
                worded = worded[told.end() : told.end() + 1].upper() + worded[told.end() + 1 :]
            if claim.kind not in {"fact", "credential"} or not worded or worded.endswith("?"):
                continue
            # What a video speaks of is a heading, no statement.
            is_heading = told is not None and not told["said"]
            place = None if is_heading else place_of(claim.source) or place_of(worded)
            first, last = place or (0, 0)
            around = window[max(0, first - _AROUND_SOURCE) : last + _AROUND_SOURCE]
            is_said = place is not None and rests_on(worded, around, f"{window} {title}")
            if not is_said or drops_denial(worded, window[first:last]):
                refused += 1
                continue
            credential, expertise = claim.kind == "credential", answer.thesis_is_about_expertise
            draft = ClaimDraft(
                text=worded,
                importance=importance_of(claim, credential=credential, expertise=expertise),
                confidence=claim.confidence,
                category=clip(plain(claim.category), _CATEGORY_WORDS).lower().rstrip(".…") or None,
                context=clip(plain(claim.context), CONTEXT_WORDS) if claim.context else None,
                char_start=start + first,
                char_end=start + last,
                searches=tuple(claim.searches),
            )
            found.append(Candidate(draft, stretch, credential))
    return found, refused


def _distinct(found: Sequence[Candidate]) -> list[Candidate]:
    """Sort by importance and leave out what only says again what a more important claim says."""
    kept: list[Candidate] = []
    for each in sorted(found, key=lambda each: (-each.draft.importance, -each.draft.confidence)):
        if not any(says_the_same(each.draft.text, other.draft.text) for other in kept):
            kept.append(each)
    return kept


def says_the_same(one: str, other: str) -> bool:
    """Tell whether two claims are one: the same figures, negations and words but few.

    A word that stands in the place of another one ("unsafe" for "safe", "men" for "women") makes
    two claims of them; so does another order where the claim compares.
    """
    if Counter(_FIGURE.findall(one)) != Counter(_FIGURE.findall(other)):
        return False
    if len(_NEGATION.findall(one)) != len(_NEGATION.findall(other)):
        return False
    first, second = content_stems(one), content_stems(other)
    if _COMPARES.search(one) and first != second:
        return False
    if set(first) - set(second) and set(second) - set(first):
        return False
    ratio = fuzz.token_sort_ratio(one, other, processor=utils.default_process)
    return bool(ratio >= _PARAPHRASE)


def rests_on(claim: str, said: str, known: str) -> bool:
    """Tell whether a claim says no more than was said: its figures, its names, half of its words.

    `said` is what was said where it was made, and a little around it; names and figures may come
    from all that is `known`, with the video's title. Figures may have been spoken as words, and
    names misspelt by whoever wrote captions.
    """
    digits = _BETWEEN_DIGITS.sub("", known)
    unheard = (
        figure for figure in _FIGURE.findall(_BETWEEN_DIGITS.sub("", claim)) if figure not in digits
    )
    if any(unheard) and not _SPOKEN_NUMBER.search(said):
        return False
    words = {word.casefold() for word in _WORD.findall(known)}
    beginnings = {word[:_STEM] for word in words}
    inner = _WORD.findall(claim)[1:]
    names = [word.casefold() for word in inner if word[0].isupper() and len(word) > _SHORTEST_NAME]
    # Where every noun is written so, capitals tell no names.
    names = names if len(names) <= _MOST_NAMES * len(inner) else []
    for name in names:
        if name[:_STEM] not in beginnings and not process.extractOne(
            name, words, scorer=fuzz.ratio, score_cutoff=_MISSPELT
        ):
            return False
    near = [*(word.casefold() for word in _WORD.findall(said)), *names]
    heard = {word[:length] for word in near for length in (_STEM - 1, _STEM)}
    telling = [word for word in content_stems(claim) if not word[0].isdigit()]
    shared = sum(word[:_STEM] in heard for word in telling)
    return shared >= _LEAST_SHARED * len(telling)


def drops_denial(claim: str, source: str) -> bool:
    """Tell whether a claim says in its source's words what the source only says behind a "not".

    Nothing is told of a claim in words of its own, such as "fails to" or "unsafe".
    """
    denied, said = set[str](), set[str]()
    is_denied = False
    for word in _WORD_OR_MARK.findall(source.replace("\u2019", "'")):
        if _NEGATION.fullmatch(word):
            is_denied = True
            continue
        stems = content_stems(word)
        is_denied &= word[0].isalpha() and word.casefold() not in _BUT
        (denied if is_denied else said).update(stems)
        is_denied &= not stems
    asserted = set(content_stems(claim))
    is_in_its_words = asserted <= denied | said and not _NEGATION.search(claim)
    return is_in_its_words and not asserted.isdisjoint(denied - said)


def _stretches(answers: Sequence[ClaimsAnswer], claims: Sequence[Candidate]) -> list[Piece]:
    """List theses and numbered claims by stretch. Each is one line, so that no number is forged."""
    pieces: list[Piece] = []
    for stretch, answer in enumerate(answers, start=1):
        thesis = clip(plain(answer.thesis), THESIS_WORDS) or "(none)"
        lines = [
            f"{number}. {claim.draft.text}"
            for number, claim in enumerate(claims, start=1)
            if claim.stretch == stretch
        ]
        gap = "\n\n" if pieces else ""
        pieces += [
            f"{gap}Stretch {stretch}, its thesis and its numbered claims:\n",
            Data(f"stretch {stretch}", "\n".join([f"Thesis: {thesis}", *lines])),
        ]
    return pieces


def _reranked(merged: MergeAnswer, found: Sequence[Candidate]) -> list[ClaimDraft]:
    """Give the claims their importance for the whole video; unknown numbers are ignored.

    Claims that were not ranked are paraphrases of others. If none was, all are kept as they were:
    an answer without numbers is not worth the loss of the claims.
    """
    ranked: dict[int, ClaimDraft] = {}
    for claim in merged.claims:
        if 1 <= claim.number <= len(found) and claim.number not in ranked:
            candidate = found[claim.number - 1]
            importance = importance_of(
                claim, credential=candidate.credential, expertise=merged.thesis_is_about_expertise
            )
            ranked[claim.number] = replace(candidate.draft, importance=importance)
    return list(ranked.values()) or [each.draft for each in found]
