"""Reads a page by the probabilities that a language model gives to "true", "false" and "neither".

The model writes no text: with 1.5 billion parameters, these probabilities separate supporting from
refuting sources far better than its words do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from factible_assets.reasoners.llm.prompts import Prompt, cut, load_prompt, title_line
from factible_assets.reasoners.readers.base import PageReading, ReadingOutageError
from factible_assets.reasoners.readers.calibration import (
    LABELS,
    PROMPTS,
    UNCALIBRATED,
    Calibration,
    SideChances,
)
from factible_assets.reasoners.readers.page_text import PageSentence
from factible_assets.reasoners.readers.passages import Passage, Selection
from resources.llm.base import ModelCall, ModelError, Part

if TYPE_CHECKING:  # loads arrays
    from factible_assets.reasoners.embedded.embedder import Embedder
    from resources.llm.labels import LabelChances

_MOST_CHARACTERS = 1_200
"""Characters of a source in one question, about 300 tokens."""
_SENTENCES, _AT_ONCE = 3, 2
"""Sentences nearest to the claim that get their own question if the page took a side, two at once.
The third gets one only if the first two do not take that side."""
_CLEAR = 0.9
"""Probability from which one sentence outweighs a page that seems to say the opposite. A small
model reads one sentence better than nine."""
_MOST_UNCALIBRATED = 0.5
"""Highest confidence of a model without a calibration."""


class AsksForLabels(Protocol):
    """A model that returns label probabilities (resources.llm.labels.LabelModel)."""

    async def ask(
        self,
        system: str,
        parts: tuple[Part, ...],
        labels: Sequence[str],
        *,
        examples: tuple[tuple[str, str], ...] = (),
    ) -> LabelChances:
        """Return the probabilities of the labels; the examples become earlier turns.

        Raises ModelError if the model failed or gives no probabilities.
        """
        ...


def labels_prompt() -> Prompt:
    return load_prompt("labels", PROMPTS)


def examples_of(prompt: Prompt) -> tuple[tuple[str, str], ...]:
    """Return the examples of the prompt: questions in the form of its User section, and labels."""
    examples = (text.rpartition(" ") for text in prompt.sections["Examples"].split("\n\n"))
    return tuple((question, label) for question, _, label in examples)


@dataclass(frozen=True, slots=True)
class LabelQuestion:
    """The question whether a source supports a claim, in the words of the prompt file."""

    model: AsksForLabels
    prompt: Prompt

    async def ask(self, claim: str, source: str, *, title: str) -> LabelChances:
        """Return the probabilities of true, false and neither.

        Title, source and claim are untrusted: each stays on its own line. Raises ModelError if the
        model failed or gives no probabilities.
        """
        parts = self.prompt.fill_lines(
            "User",
            title=title_line(title) or "(none)",
            source=cut(source, _MOST_CHARACTERS),
            claim=cut(claim),
        )
        examples = examples_of(self.prompt)
        return await self.model.ask(self.prompt.system, parts, LABELS, examples=examples)


class LabelReader:
    """A `StanceReader` by label probabilities.

    Without a `calibration` the probabilities count as they are, and the confidence stays low.
    `embedder` finds the sentences nearest to the claim.
    """

    def __init__(
        self, model: AsksForLabels, calibration: Calibration | None, embedder: Embedder
    ) -> None:
        self._question = LabelQuestion(model, labels_prompt())
        self._calibration = calibration or UNCALIBRATED
        self._most_confidence = 1.0 if calibration is not None else _MOST_UNCALIBRATED
        self._embedder = embedder

    async def read(self, claim: str, selection: Selection, *, title: str) -> PageReading:
        """Read the selected passages of a page against a claim; see `StanceReader.read`.

        The first question is about all passages. If they take a side, the sentences nearest to the
        claim get questions of their own. If the clearest of them takes the other side, it decides
        from the probability `_CLEAR` on, and makes the page unclear from the threshold of the model
        on. The quote is the sentence that says most clearly what the page says.

        Raises ReadingOutageError if the model failed or gives no probabilities.
        """
        sentences, in_page = sentences_to_read(selection)
        if not sentences:
            return PageReading(bearing=0.0)
        calls: list[ModelCall] = []
        source = " ".join(sentence.text for sentence in sentences)
        judged = await self._judge(claim, source, title, calls)
        reading = PageReading(
            bearing=round(judged.bearing, 4),
            in_page=in_page,
            calls=tuple(calls),
            prompt_version=self._question.prompt.version,
        )
        stance, chance = judged.side
        threshold = self._calibration.threshold
        if chance < threshold:
            return reading
        nearest = await asyncio.to_thread(self._nearest, claim, sentences)
        singles = list[SideChances]()
        for start in range(0, len(nearest), _AT_ONCE):
            batch = nearest[start : start + _AT_ONCE]
            singles += await asyncio.gather(
                *(self._judge(claim, sentence.text, title, calls) for sentence in batch)
            )
            sides = [single.side for single in singles]
            if any(side == stance and clarity >= threshold for side, clarity in sides):
                break
        side, clarity = max(sides, key=lambda pair: pair[1])
        if side != stance and clarity >= threshold:
            if clarity < _CLEAR:
                return replace(reading, calls=tuple(calls))
            stance, chance = side, clarity
        agreement = [
            probabilities.supports if stance == "supports" else probabilities.refutes
            for probabilities in singles
        ]
        quoted = nearest[agreement.index(max(agreement))]
        return replace(
            reading,
            stance=stance,
            confidence=round(min(chance, self._most_confidence), 4),
            ground="label",
            quotes=((quoted.start, quoted.end),) if in_page else (),
            calls=tuple(calls),
        )

    async def _judge(
        self, claim: str, source: str, title: str, calls: list[ModelCall]
    ) -> SideChances:
        try:
            answer = await self._question.ask(claim, source, title=title)
        except ModelError as failure:
            calls += failure.calls
            raise ReadingOutageError(
                failure.reason,
                model_calls=tuple(calls),
                prompt_version=self._question.prompt.version,
                lasting=failure.lasting,
            ) from failure
        calls += answer.calls
        return self._calibration.judge(answer.chances)

    def _nearest(self, claim: str, sentences: Sequence[PageSentence]) -> Sequence[PageSentence]:
        """Return the sentences nearest to the claim, the nearest first."""
        if len(sentences) <= _SENTENCES:
            return sentences
        vectors = self._embedder.embed([claim, *(sentence.text for sentence in sentences)])
        cosines = (vectors[1:] @ vectors[0]).tolist()
        order = sorted(range(len(sentences)), key=lambda at: -cosines[at])
        return [sentences[at] for at in order[:_SENTENCES]]


def sentences_to_read(selection: Selection) -> tuple[Sequence[PageSentence], bool]:
    """Return the sentences to read, in the order of the page, and whether they are of the page.

    The search snippet replaces a page without text.
    """
    page = selection.sentences
    if page and sum(len(sentence.text) + 1 for sentence in page) <= _MOST_CHARACTERS:
        return page, True  # the deciding sentence may share no word with the claim
    if not selection.passages:
        return selection.snippet, False
    chosen: list[Passage] = []
    room = _MOST_CHARACTERS
    for passage in selection.passages:
        if any(other.start < passage.end and passage.start < other.end for other in chosen):
            continue
        room -= len(passage.text) + 1
        if chosen and room < 0:
            break
        chosen.append(passage)
    chosen.sort(key=lambda passage: passage.start)
    return [sentence for passage in chosen for sentence in passage.sentences], True
