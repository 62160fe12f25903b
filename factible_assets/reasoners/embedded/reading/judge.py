"""The embedded engine's verdict: what the vote leans to, in plain sentences.

What belongs here: turning a vote and the evidence behind it into a draft verdict with a summary.
What does not: the vote itself (stages.verdict), reading pages (stance.py).

An embedded verdict follows the vote, because over the published runs' evidence a vote weighted by
reliability was right more often (.677) than the model's own verdicts (.582). It is never more than
medium sure, and it says that it is an automatic leaning.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from factible_assets.reasoners.embedded.lexicon import load_lexicon
from factible_assets.reasoners.embedded.reading.denials import fold_evenly
from factible_assets.records import Evidence, Stance
from factible_assets.stages.argument import argue
from factible_assets.stages.ports import VerdictDraft, Vote

_LEANINGS: dict[Stance, str] = {
    "supports": "The sources that were read lean towards the claim.",
    "refutes": "The sources that were read lean against the claim.",
    "mixed": "The sources that were read point both ways.",
    "unclear": "The sources that were read do not settle the claim.",
}
_CLOSING = "This is an automatic leaning from the wording of the sources, not a reviewed judgement."


def draft_verdict(evidence: Sequence[Evidence], vote: Vote) -> VerdictDraft:
    """Word the verdict that a vote leans to; every row of the evidence has status ok.

    Confidence is at most medium, and low if a single independent origin carries the leaning.
    """
    stance = vote.stance
    is_alone = _origins([row for row in evidence if row.stance == stance]) <= 1
    is_low = vote.confidence == "low" or stance in {"unclear", "mixed"} or is_alone
    origins = _origins(evidence)
    which = "all of one origin" if origins == 1 else f"of {origins} independent origins"
    parts = [
        _LEANINGS[stance],
        f"{_sources(len(evidence), 'speak')} of it{f', {which}' if len(evidence) > 1 else ''}."
        if evidence
        else "No source could be read on it.",
    ]
    argument = argue(stance, evidence)
    parts += [each.sentence(quoted=_is_harmless(each.words)) for each in argument.voices]
    parts += [argument.balance] if argument.balance is not None else []
    undecided = sum(row.stance == "unclear" for row in evidence)
    if undecided:
        parts.append(f"{_sources(undecided, 'do')} not settle it.")
    return VerdictDraft(stance, "low" if is_low else "medium", " ".join([*parts, _CLOSING]))


def _sources(count: int, verb: str) -> str:
    if count == 1:
        return f"One source {'does' if verb == 'do' else f'{verb}s'}"
    return f"{count} sources {verb}"


def _origins(rows: Sequence[Evidence]) -> int:
    return len({row.origin or row.domain for row in rows})


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
