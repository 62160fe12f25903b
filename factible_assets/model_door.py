"""The door between the reasoner and the clients of language models.

What belongs here: handing a reasoner's question to a client as its request, within a budget, and
its errors back as the reasoner's. What does not: either side (reasoners/llm, resources/llm), which
neither knows.
"""

from __future__ import annotations

from factible_assets.reasoners.llm.model import (
    Answer,
    ModelFailureError,
    OverBudgetError,
    PromptTooLongError,
    Question,
    Reply,
)
from resources.llm.base import (
    BudgetExhaustedError,
    ContextTooLongError,
    LanguageModel,
    ModelError,
    ModelRequest,
    Part,
    PriceUnknownError,
)
from resources.llm.budget import Budget


class ModelDoor:
    """A `reasoners.llm.model.LanguageModel` on top of a client."""

    def __init__(self, client: LanguageModel, budget: Budget | None = None) -> None:
        """Take a client, which whoever opened it closes, and what its answers may cost."""
        self._client = client
        self._budget = budget

    async def ask(self, question: Question[Answer]) -> Reply[Answer]:
        """Ask until the answer is valid.

        Raises:
            PromptTooLongError: The question does not fit into the context window.
            OverBudgetError: The budget does not allow it.
            ModelFailureError: There is no valid answer, for any other reason.
        """
        request = ModelRequest(
            system=question.system,
            user=tuple(Part(part.text, part.trimmable) for part in question.parts),
            output_type=question.output_type,
            max_tokens=question.max_tokens,
            temperature=question.temperature,
            seed=question.seed,
        )
        try:
            answer = await self._client.complete(request, budget=self._budget)
        except ContextTooLongError as error:
            raise PromptTooLongError(error.reason, error.calls) from error
        except (BudgetExhaustedError, PriceUnknownError) as error:
            raise OverBudgetError(error.reason, error.calls) from error
        except ModelError as error:
            raise ModelFailureError(error.reason, error.calls) from error
        return Reply(answer.value, answer.calls)
