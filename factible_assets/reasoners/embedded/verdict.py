"""The words of a verdict from a template, which cannot contradict the vote."""

from __future__ import annotations

import re
from collections.abc import Sequence

from factible_assets.records.tables import Evidence
from factible_assets.stages.argument import argue
from factible_assets.stages.ports import VerdictDraft, Vote

_UNFIT = re.compile(
    r"<[^>]{0,200}>|[*_`#<>\[\]{}|\\]|[^\S ]|[\u0000-\u001f\u007f-\u009f]"
    "|[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)
"""Markup, control characters and invisible characters: quotes with them are not cited."""


def draft_verdict(evidence: Sequence[Evidence], vote: Vote) -> VerdictDraft:
    """Word the verdict of a vote over evidence with status "ok".

    On the published runs of Factible, the reliability-weighted vote agreed with the annotation more
    often (.677) than the model's own verdicts (.582).
    """
    argument = argue(vote.stance, evidence)
    sentences = (
        each.sentence(quoted=_UNFIT.search(each.words) is None) for each in argument.key_sources
    )
    by_model = any(row.basis == "llm" for row in evidence)
    by_whom = None if by_model else "Judged automatically, by the wording of the sources."
    parts = (*sentences, argument.balance, by_whom)
    return VerdictDraft(vote.stance, vote.confidence, " ".join(filter(None, parts)))
