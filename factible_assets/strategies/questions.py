"""Questions that a strategy asks a language model itself, and the record of their calls.

What belongs here: opening the desk where they are asked. What does not: any question
(reasoners/llm/).
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

from factible_assets.reasoners.llm.calls import Desk
from factible_assets.reasoners.llm.engine import LlmReasoner
from factible_assets.stages.claim_check import ClaimCheck
from factible_assets.stages.ports import ReasonerOutageError


@asynccontextmanager
async def asking(
    check: ClaimCheck, prompt: str, stage: Literal["queries", "verdicts"]
) -> AsyncIterator[Desk]:
    """Open a desk for a prompt, asked of a stage's model; its calls and its time are the claim's.

    Raises:
        ReasonerOutageError: Who judges is no language model.
        BudgetSpentError: The claim may cost no more, or its seconds ended before the answer came.
    """
    reasoner = check.services.reasoner
    if not isinstance(reasoner, LlmReasoner):
        raise ReasonerOutageError(f"The question {prompt} is for a language model.", lasting=True)
    desk = reasoner.desk(prompt, stage, check.claim)
    try:
        async with check.trace.within():
            with check.shared.watch.time(stage):
                yield desk
    finally:
        check.calls.extend(desk.calls)
