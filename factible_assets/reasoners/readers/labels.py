"""A reader that asks a language model for one word: true, false or neither.

The question about a page, the question about its sentences, and the reading that follows from the
answers belong here. The model's client does not (resources/llm/labels.py), nor do the curves that
make its probabilities mean something (calibration.py).

No text is generated: the probabilities of the three words are the answer. Asked so, a model of 1.5
billion parameters tells supporting from refuting sources far better than by an answer in words.
Instructions and examples are the same in every question, so that a server computes them once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from factible_assets.reasoners.llm.prompts import Prompt, cut, load_prompt, title_line
from factible_assets.reasoners.readers.base import Reading, ReadingOutageError
from factible_assets.reasoners.readers.calibration import (
    LABELS,
    PROMPTS,
    UNCALIBRATED,
    Calibration,
    Judgement,
)
from factible_assets.reasoners.readers.page_text import PageSentence
from factible_assets.reasoners.readers.passages import Passage, Selection
from factible_assets.records import Stance
from resources.llm.base import ModelCall, ModelError, Part

if TYPE_CHECKING:  # loads arrays
    from factible_assets.reasoners.embedded.embedder import Embedder
    from resources.llm.labels import LabelChances

_MOST_CHARACTERS = 1_200
"""Of a source in one question: about 300 tokens."""
_SENTENCES, _AT_ONCE = 3, 2
"""Sentences that are asked about alone, where the page took a side: the nearest to the claim. The
third is asked about only if the first two do not carry the side."""
_CLEAR = 0.9
"""Probability from which a sentence alone outweighs a page that seems to say the opposite. A small
model reads one sentence more surely than nine."""
_MOST_UNCALIBRATED = 0.5
"""Confidence that a model without a calibration does not exceed."""


class AsksForLabels(Protocol):
    """A model that tells how likely each label is (resources.llm.labels.LabelModel)."""

    @property
    def name(self) -> str:
        """Return the model's name, for metadata."""
        ...

    async def ask(
        self,
        system: str,
        parts: tuple[Part, ...],
        labels: Sequence[str],
        *,
        examples: tuple[tuple[str, str], ...] = (),
    ) -> LabelChances:
        """Return the labels' probabilities. The model is shown the examples as earlier turns.

        Raises:
            ModelError: The model failed, or gives no probabilities.
        """
        ...


def labels_prompt() -> Prompt:
    """Return the prompt of this reader."""
    return load_prompt("labels", PROMPTS)


def examples_of(prompt: Prompt) -> tuple[tuple[str, str], ...]:
    """Return the prompt's examples: questions as its User section words them, and their labels."""
    told = (each.rpartition(" ") for each in prompt.sections["Examples"].split("\n\n"))
    return tuple((question, label) for question, _, label in told)


@dataclass(frozen=True, slots=True)
class LabelQuestion:
    """Asks what a source says of a claim, in the words of the prompt file."""

    model: AsksForLabels
    prompt: Prompt

    async def ask(self, claim: str, source: str, *, title: str) -> LabelChances:
        """Return the probabilities of true, false and neither.

        Title, source and claim are strangers' words: each stays on its own line.

        Raises:
            ModelError: The model failed, or gives no probabilities.
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

    `calibration` is the model's, None if nobody fitted one: then the model is taken at its word,
    and its confidence stays low. `embedder` finds the sentences that are nearest to the claim.
    """

    def __init__(
        self, model: AsksForLabels, calibration: Calibration | None, embedder: Embedder
    ) -> None:
        self._question = LabelQuestion(model, labels_prompt())
        self._calibration = calibration or UNCALIBRATED
        self._embedder = embedder
        self.is_calibrated = calibration is not None

    @property
    def name(self) -> str:
        """Return who reads, such as "labels by qwen2.5-coder-1.5b-instruct"."""
        doubt = "" if self.is_calibrated else " (not calibrated)"
        return f"labels by {self._question.model.name}{doubt}"

    async def read(self, claim: str, selection: Selection, *, title: str) -> Reading:
        """Read the selected passages of a page against a claim; see `StanceReader.read`.

        The passages are read together. If they take a side, the sentences nearest to the claim are
        read alone, and the one that says so most clearly is quoted. Where the clearest sentence
        takes the other side, it decides if it is very clear (`_CLEAR`). If it only passes the
        model's threshold, the page stays unclear. Below that, the page keeps its side.

        Raises:
            ReadingOutageError: The model failed, or gives no probabilities.
        """
        passages, in_page = passages_read(selection)
        if not passages:
            return Reading(bearing=0.0)
        calls: list[ModelCall] = []
        source = " ".join(each.text for passage in passages for each in passage)
        judged = await self._judge(claim, source, title, calls)
        said = Reading(
            bearing=round(judged.bearing, 4),
            in_page=in_page,
            calls=tuple(calls),
            prompt_version=self._question.prompt.version,
        )
        stance, chance = _side(judged)
        threshold = self._calibration.threshold
        if chance < threshold:
            return said
        told = [each for passage in passages for each in passage]
        near = await asyncio.to_thread(self._nearest, claim, told)
        alone = list[Judgement]()
        for start in range(0, len(near), _AT_ONCE):
            some = near[start : start + _AT_ONCE]
            alone += await asyncio.gather(
                *(self._judge(claim, sentence.text, title, calls) for sentence in some)
            )
            if any(_side(each)[0] == stance and _side(each)[1] >= threshold for each in alone):
                break
        clearest = max(alone, key=lambda each: _side(each)[1])
        side, clear = _side(clearest)
        if side != stance and clear >= threshold:
            if clear < _CLEAR:
                return replace(said, calls=tuple(calls))
            stance, chance = side, clear
        says = [each.supports if stance == "supports" else each.refutes for each in alone]
        quoted = near[says.index(max(says))]
        most = 1.0 if self.is_calibrated else _MOST_UNCALIBRATED
        return replace(
            said,
            stance=stance,
            confidence=round(min(chance, most), 4),
            ground="label",
            quotes=((quoted.start, quoted.end),) if in_page else (),
            calls=tuple(calls),
        )

    async def _judge(
        self, claim: str, source: str, title: str, calls: list[ModelCall]
    ) -> Judgement:
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

    def _nearest(self, claim: str, told: Sequence[PageSentence]) -> Sequence[PageSentence]:
        """Return the sentences nearest to the claim, the nearest first."""
        if len(told) <= _SENTENCES:
            return told
        vectors = self._embedder.embed([claim, *(each.text for each in told)])
        near = (vectors[1:] @ vectors[0]).tolist()
        order = sorted(range(len(told)), key=lambda at: -near[at])
        return [told[at] for at in order[:_SENTENCES]]


def _side(judged: Judgement) -> tuple[Stance, float]:
    if judged.supports >= judged.refutes:
        return "supports", judged.supports
    return "refutes", judged.refutes


def passages_read(selection: Selection) -> tuple[list[tuple[PageSentence, ...]], bool]:
    """Return the passages that are read, in the page's order, and whether the page has any.

    The snippet of the search result is read where the page has nothing to read.
    """
    whole = selection.sentences
    if whole and sum(len(each.text) + 1 for each in whole) <= _MOST_CHARACTERS:
        return [whole], True  # the sentence that settles it may share no word with the claim
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
