"""The labelled pairs for calibrations, and the answers of a model to them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from factible_assets.reasoners.readers.calibration import AnsweredPair, Label
from factible_assets.reasoners.readers.labels import LabelQuestion
from resources.llm.base import ModelError

_PAIRS = Path(__file__).with_name("pairs")
DATA = "26 passages written for factible-assets, and 100 pairs of VitaminC (CC BY-SA 3.0)"
_OFF_TOPIC = 7
"""Distance to the passage that serves as the off-topic source of a claim."""


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """A claim, a source, and the label of the source for the claim.

    Pairs of one source share a `group`. `kind`: the source states or denies the claim in the same
    words ("near"), in others ("words") or by one step of reasoning ("step"); it is "silent" on the
    claim, or "off" topic; or the pair is from "vitaminc".
    """

    claim: str
    source: str
    title: str
    label: Label
    group: str
    kind: str


def shipped_pairs() -> list[LabelledPair]:
    """Read the pairs of the project, in a fixed order."""
    return [*_everyday(), *_vitaminc()]


def _everyday() -> list[LabelledPair]:
    pages = yaml.safe_load((_PAIRS / "everyday.yaml").read_text("utf-8"))
    pairs = []
    for place, page in enumerate(pages):
        for kind in ("near", "words", "step"):
            pairs.append(_pair(page, page[kind]["right"], "true", kind))
            pairs.append(_pair(page, page[kind]["wrong"], "false", kind))
        pairs.append(_pair(page, page["silent"], "neither", "silent"))
        claim = page["words"]["wrong" if place % 2 else "right"]
        pairs.append(_pair(pages[(place + _OFF_TOPIC) % len(pages)], claim, "neither", "off"))
    return pairs


def _pair(page: Mapping[str, str], claim: str, label: Label, kind: str) -> LabelledPair:
    return LabelledPair(claim, page["text"].strip(), page["title"], label, page["title"], kind)


def _vitaminc() -> list[LabelledPair]:
    lines = (_PAIRS / "vitaminc.jsonl").read_text("utf-8").splitlines()
    return [
        LabelledPair(**row, group=row["title"], kind="vitaminc") for row in map(json.loads, lines)
    ]


async def answer_pairs(
    question: LabelQuestion,
    pairs: Sequence[LabelledPair],
    progress: Callable[[int], None] = lambda _: None,
) -> list[AnsweredPair]:
    """Ask a model about pairs; call `progress` with the number of answers so far.

    Raises ModelError if the model failed or gives no probabilities.
    """
    done = 0

    async def answer(pair: LabelledPair) -> AnsweredPair:
        nonlocal done
        reply = await question.ask(pair.claim, pair.source, title=pair.title)
        done += 1
        progress(done)
        return AnsweredPair(pair.label, pair.group, reply.chances)

    try:
        async with asyncio.TaskGroup() as tasks:
            asked = [tasks.create_task(answer(pair)) for pair in pairs]
    except* ModelError as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in asked]
