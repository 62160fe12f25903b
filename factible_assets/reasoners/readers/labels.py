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
from dataclasses import dataclass
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
_SENTENCES = 3
"""Sentences that are asked about alone, where the page took a side: the nearest to the claim."""
_CLEAR = 0.8
"""Probability from which a sentence alone takes a side so clearly that it can divide its page."""
_MOST_UNCALIBRATED = 0.5
"""Confidence that a model without a calibration does not exceed."""


class AsksForLabels(Protocol):
    """A model that tells how likely each label is (resources.llm.labels.LabelModel)."""

    @property
    def name(self) -> str:
        """Return the model's name, for metadata."""
        ...

    async def ask(
        self, system: str, parts: tuple[Part, ...], labels: Sequence[str]
    ) -> LabelChances:
        """Return the labels' probabilities.

        Raises:
            ModelError: The model failed, or gives no probabilities.
        """
        ...


def labels_prompt() -> Prompt:
    """Return the prompt of this reader."""
    return load_prompt("labels", PROMPTS)


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
        return await self.model.ask(self.prompt.system, parts, LABELS)


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
        self.prompt_version = self._question.prompt.version

    @property
    def name(self) -> str:
        """Return who reads, such as "labels by qwen2.5-coder-1.5b-instruct"."""
        doubt = "" if self.is_calibrated else " (not calibrated)"
        return f"labels by {self._question.model.name}{doubt}"

    async def read(self, claim: str, selection: Selection, *, title: str) -> Reading:
        """Read the selected passages of a page against a claim; see `StanceReader.read`.

        The passages are read together. If they take a side, the sentences nearest to the claim are
        read alone: the one that says so most clearly is quoted, and sentences that are clear on
        both sides make the page mixed.

        Raises:
            ReadingOutageError: The model failed, or gives no probabilities.
        """
        source = _source(selection)
        if not source:
            return Reading(bearing=0.0)
        calls: list[ModelCall] = []
        judged = await self._judge(claim, " ".join(text for _, text in source), title, calls)
        bearing = round(judged.bearing, 4)
        stance, chance = _side(judged)
        if chance < self._calibration.threshold:
            return Reading(bearing=bearing, calls=tuple(calls))
        places = await asyncio.to_thread(self._nearest, claim, selection, [at for at, _ in source])
        alone = await asyncio.gather(
            *(self._judge(claim, sentence.text, title, calls) for _, sentence in places)
        )
        supporting = max(range(len(alone)), key=lambda at: alone[at].supports)
        refuting = max(range(len(alone)), key=lambda at: alone[at].refutes)
        best = [supporting if stance == "supports" else refuting]
        clear = min(alone[supporting].supports, alone[refuting].refutes)
        if clear >= _CLEAR:
            stance, chance, best = "mixed", clear, [supporting, refuting]
        quotes = tuple((places[at][0], (places[at][1].start, places[at][1].end)) for at in best)
        most = 1.0 if self.is_calibrated else _MOST_UNCALIBRATED
        return Reading(
            stance=stance,
            confidence=round(min(chance, most), 4),
            ground="label",
            quotes=quotes,
            bearing=bearing,
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
                failure.reason, tuple(calls), lasting=failure.lasting
            ) from failure
        calls += answer.calls
        return self._calibration.judge(answer.chances)

    def _nearest(
        self, claim: str, selection: Selection, used: Sequence[int]
    ) -> list[tuple[int, PageSentence]]:
        """Return the sentences nearest to the claim with their passages' places, nearest first."""
        told = [(at, each) for at in used for each in selection.passages[at].sentences]
        if len(told) > _SENTENCES:
            vectors = self._embedder.embed([claim, *(each.text for _, each in told)])
            near = (vectors[1:] @ vectors[0]).tolist()
            order = sorted(range(len(told)), key=lambda at: -near[at])
            told = [told[at] for at in order[:_SENTENCES]]
        return told


def _side(judged: Judgement) -> tuple[Stance, float]:
    if judged.supports >= judged.refutes:
        return "supports", judged.supports
    return "refutes", judged.refutes


def _source(selection: Selection) -> list[tuple[int, str]]:
    """Return what is read of a page in its own order: places of passages, and their texts.

    Snippets of the search result are read where the page itself has nothing to read.
    """
    passages = selection.passages
    own = [at for at, each in enumerate(passages) if each.in_page]
    chosen: list[int] = []
    room = _MOST_CHARACTERS
    for at in own or range(len(passages)):
        if _overlaps(passages[at], [passages[each] for each in chosen]):
            continue
        room -= len(passages[at].text) + 1
        if chosen and room < 0:
            break
        chosen.append(at)
    chosen.sort(key=lambda at: passages[at].start if own else at)
    return [(at, passages[at].text) for at in chosen]


def _overlaps(passage: Passage, others: Sequence[Passage]) -> bool:
    return passage.in_page and any(
        each.start < passage.end and passage.start < each.end for each in others
    )
