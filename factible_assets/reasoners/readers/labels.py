"""A reader that asks a language model for one word: true, false or neither.

The probabilities of the three words are the answer; the model generates no text. This way a model
of 1.5 billion parameters separates supporting from refuting sources far better than in words.
Instructions and examples are the same in every question, so that a server computes them once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from factible_assets.reasoners.llm.prompts import Prompt, cut, load_prompt, title_line
from factible_assets.reasoners.readers.base import PageReading, ReadingOutageError
from factible_assets.reasoners.readers.calibration import (
    LABELS,
    PROMPTS,
    UNCALIBRATED,
    Answers,
    Calibration,
)
from factible_assets.reasoners.readers.page_text import PageSentence
from factible_assets.reasoners.readers.passages import Passage, Selection
from resources.llm.base import ModelCall, ModelError, Part

if TYPE_CHECKING:  # loads arrays
    from factible_assets.reasoners.embedded.embedder import Embedder
    from resources.llm.labels import LabelChances

_MOST_CHARACTERS = 1_200
"""Characters of a source in one question, about 300 tokens."""
_SENTENCES = 2
"""Sentences nearest to the claim that get their own question: a small model reads one sentence
better than nine."""
_SILENT = 0.27
"""Probability of "neither" for the page from which sentences get no questions: of 26 pages on
another topic 17 are silent, and no figure changes."""
_NO_SOURCE = "(none)"
_MOST_UNCALIBRATED = 0.5
"""Highest confidence of a model without a calibration."""


class AsksForLabels(Protocol):
    """A model that returns label probabilities (resources.llm.labels.LabelModel)."""

    @property
    def name(self) -> str:
        """The name of the model, for metadata."""
        ...

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
    examples = (each.rpartition(" ") for each in prompt.sections["Examples"].split("\n\n"))
    return tuple((question, label) for question, _, label in examples)


@dataclass(frozen=True, slots=True)
class AnsweredPage:
    """A model's answers for a page, with the sentences of `answers.sentences`."""

    answers: Answers
    sentences: tuple[PageSentence, ...]


@dataclass(frozen=True, slots=True)
class LabelQuestions:
    """The questions about a page: whether it supports a claim, and whether its sentences do.

    `embedder` finds the sentences nearest to the claim.
    """

    model: AsksForLabels
    embedder: Embedder
    prompt: Prompt = field(default_factory=labels_prompt)

    async def ask(
        self, claim: str, sentences: Sequence[PageSentence], *, title: str, calls: list[ModelCall]
    ) -> AnsweredPage:
        """Ask about sentences together, the nearest alone, and the claim without a source.

        A silent page stands for its sentences.

        Adds the calls to `calls`, also before an error. Raises ModelError if the model failed or
        gives no probabilities.
        """
        source = " ".join(each.text for each in sentences)
        belief, page = await asyncio.gather(
            self._ask(claim, _NO_SOURCE, "", calls), self._ask(claim, source, title, calls)
        )
        near = await asyncio.to_thread(self._nearest, claim, sentences)
        if len(sentences) == 1 or page["neither"] > _SILENT:
            return AnsweredPage(Answers(page, (page,), belief), near[:1])
        alone = await asyncio.gather(*(self._ask(claim, s.text, title, calls) for s in near))
        return AnsweredPage(Answers(page, tuple(alone), belief), near)

    async def _ask(
        self, claim: str, source: str, title: str, calls: list[ModelCall]
    ) -> Mapping[str, float]:
        """Return the label probabilities of one question, in the words of the prompt file.

        Title, source and claim are untrusted: each stays on its own line.
        """
        parts = self.prompt.fill_lines(
            "User",
            title=title_line(title) or "(none)",
            source=cut(source, _MOST_CHARACTERS),
            claim=cut(claim),
        )
        examples = examples_of(self.prompt)
        try:
            found = await self.model.ask(self.prompt.system, parts, LABELS, examples=examples)
        except ModelError as failure:
            calls += failure.calls
            raise
        calls += found.calls
        return found.chances

    def _nearest(self, claim: str, sentences: Sequence[PageSentence]) -> tuple[PageSentence, ...]:
        vectors = self.embedder.embed([claim, *(each.text for each in sentences)])
        near = (vectors[1:] @ vectors[0]).tolist()
        order = sorted(range(len(sentences)), key=lambda at: -near[at])
        return tuple(sentences[at] for at in order[:_SENTENCES])


class LabelReader:
    """A `StanceReader` by label probabilities.

    Without a `calibration` the probabilities count as they are, and the confidence stays low.
    """

    def __init__(
        self, model: AsksForLabels, calibration: Calibration | None, embedder: Embedder
    ) -> None:
        self._questions = LabelQuestions(model, embedder)
        self._calibration = calibration or UNCALIBRATED
        self.is_calibrated = calibration is not None

    @property
    def name(self) -> str:
        doubt = "" if self.is_calibrated else " (not calibrated)"
        return f"labels by {self._questions.model.name}{doubt}"

    async def read(self, claim: str, selection: Selection, *, title: str) -> PageReading:
        """Read the selected passages of a page against a claim; see `StanceReader.read`.

        The quote is the sentence that alone speaks most for the side of the page.

        Raises ReadingOutageError if the model failed or gives no probabilities.
        """
        passages, in_page = passages_read(selection)
        if not passages:
            return PageReading(bearing=0.0)
        sentences = [each for passage in passages for each in passage]
        calls: list[ModelCall] = []
        version = self._questions.prompt.version
        try:
            page = await self._questions.ask(claim, sentences, title=title, calls=calls)
        except ModelError as failure:
            raise ReadingOutageError(
                failure.reason,
                model_calls=tuple(calls),
                prompt_version=version,
                lasting=failure.lasting,
            ) from failure
        judged = self._calibration.judge(page.answers)
        reading = PageReading(
            bearing=round(judged.bearing, 4),
            in_page=in_page,
            calls=tuple(calls),
            prompt_version=version,
        )
        stance, chance = judged.side
        if chance < self._calibration.threshold:
            return reading
        alone = [
            self._calibration.judge(page.answers.alone(at)) for at in range(len(page.sentences))
        ]
        says = [each.supports if stance == "supports" else each.refutes for each in alone]
        quoted = page.sentences[says.index(max(says))]
        most = 1.0 if self.is_calibrated else _MOST_UNCALIBRATED
        return replace(
            reading,
            stance=stance,
            confidence=round(min(chance, most), 4),
            ground="label",
            quotes=((quoted.start, quoted.end),) if in_page else (),
        )


def passages_read(selection: Selection) -> tuple[list[tuple[PageSentence, ...]], bool]:
    """Return the passages to read, in the order of the page, and whether they are of the page.

    The search snippet replaces a page without text.
    """
    whole = selection.sentences
    if whole and sum(len(each.text) + 1 for each in whole) <= _MOST_CHARACTERS:
        return [whole], True  # the deciding sentence may share no word with the claim
    if not selection.passages:
        return [selection.snippet] if selection.snippet else [], False
    chosen: list[Passage] = []
    room = _MOST_CHARACTERS
    for passage in selection.passages:
        if any(each.start < passage.end and passage.start < each.end for each in chosen):
            continue
        room -= len(passage.text) + 1
        if chosen and room < 0:
            break
        chosen.append(passage)
    return [each.sentences for each in sorted(chosen, key=lambda each: each.start)], True
