"""Questions that a strategy asks a language model itself, and the record of their calls.

What belongs here: opening the desk where they are asked. What does not: any question
(reasoners/llm/).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from factible_assets.reasoners.llm.calls import Desk
from factible_assets.reasoners.llm.engine import LlmReasoner
from factible_assets.reasoners.llm.prompts import StageName
from factible_assets.stages.claim_check import ClaimCheck
from factible_assets.stages.ports import ReasonerOutageError


@contextmanager
def asking(check: ClaimCheck, prompt: str, stage: StageName) -> Iterator[Desk]:
    """Open a desk for a prompt, asked of a stage's model; its calls are the claim's.

    Raises:
        ReasonerOutageError: Who judges is no language model.
    """
    reasoner = check.services.reasoner
    if not isinstance(reasoner, LlmReasoner):
        raise ReasonerOutageError(f"The question {prompt} is for a language model.", lasting=True)
    desk = reasoner.desk(prompt, stage, check.claim)
    try:
        yield desk
    finally:
        check.calls.extend(desk.calls)
