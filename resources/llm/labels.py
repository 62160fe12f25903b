"""Asks a model for the probabilities of a few label words as its next token.

The model generates no text. A small model that words its answers badly still gives useful
probabilities for the first word. The server returns one token at temperature 1, so its
probabilities are the same before and after it applies the temperature.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from resources.llm import base

_MIN_MASS: Final = 0.2
"""Least probability of all labels together. Below it the model does not answer the question."""


@dataclass(frozen=True, slots=True)
class LabelChances:
    """The probability of each label, which sum to 1, and the calls it took."""

    chances: Mapping[str, float]
    calls: tuple[base.ModelCall, ...] = ()


class LabelModel:
    """Asks a language model for the probabilities of label words.

    `name` names the model in metadata, and in the calibration that was fitted for it.
    """

    def __init__(self, model: base.LanguageModel, name: str) -> None:
        self._model = model
        self.name = name

    async def ask(
        self,
        system: str,
        parts: tuple[base.Part, ...],
        labels: Sequence[str],
        *,
        examples: tuple[tuple[str, str], ...] = (),
    ) -> LabelChances:
        """Return how likely the model begins its answer with each of the labels.

        `examples` are questions with their labels; the model sees them as earlier turns. The labels
        must differ in their first letters, because a token may be the beginning of a word.

        Raises ModelError: The model does not answer, gives no probabilities, or would begin with
        another word.
        """
        request = base.ModelRequest(
            system, parts, base.NextToken, max_tokens=1, temperature=1.0, examples=examples
        )
        answer = await self._model.complete(request)
        sums = dict.fromkeys(labels, 0.0)
        for token in answer.value.tokens:
            word = token.text.strip().lower()
            matching = [label for label in labels if word and label.startswith(word)]
            if len(matching) == 1:
                sums[matching[0]] += token.probability
        mass = sum(sums.values())
        if mass < _MIN_MASS:
            raise base.ModelError(
                f"The model {self.name} does not answer with one of the words {', '.join(labels)}, "
                "so it cannot read by labels. Choose another model, or switch its thinking off.",
                answer.calls,
            )
        return LabelChances({label: chance / mass for label, chance in sums.items()}, answer.calls)
