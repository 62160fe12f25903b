"""The labelled pairs that calibrations are fitted on, and asking a model about them.

Reading the files of pairs/ and collecting a model's answers belong here. The fit does not
(calibration.py).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from factible_assets.reasoners.readers.calibration import Answered, Label
from factible_assets.reasoners.readers.labels import LabelQuestion
from resources.llm.base import ModelError

_PAIRS = Path(__file__).with_name("pairs")
DATA = "26 passages written for factible-assets, and 100 pairs of VitaminC (CC BY-SA 3.0)"
_OFF_TOPIC = 7
"""How many passages further on the passage stands that has nothing to do with a claim."""


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """A claim, a source, and what the source says of the claim.

    `group` is shared by pairs of one source. `kind` is how the source says it: "near" in the
    claim's words, "words" in others, "step" by one step of reasoning; "silent" on the claim, "off"
    topic; or "vitaminc".
    """

    claim: str
    source: str
    title: str
    label: Label
    group: str
    kind: str


def shipped_pairs() -> list[LabelledPair]:
    """Read the pairs that come with the project, in a fixed order."""
    return [*_everyday(), *_vitaminc()]


def _everyday() -> list[LabelledPair]:
    pages = yaml.safe_load((_PAIRS / "everyday.yaml").read_text("utf-8"))
    found = []
    for place, page in enumerate(pages):
        for kind in ("near", "words", "step"):
            found.append(_pair(page, page[kind]["right"], "true", kind))
            found.append(_pair(page, page[kind]["wrong"], "false", kind))
        found.append(_pair(page, page["silent"], "neither", "silent"))
        claim = page["words"]["wrong" if place % 2 else "right"]
        found.append(_pair(pages[(place + _OFF_TOPIC) % len(pages)], claim, "neither", "off"))
    return found


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
    told: Callable[[int], None] = lambda _: None,
) -> list[Answered]:
    """Ask a model about pairs; `told` hears how many are answered.

    Raises:
        ModelError: The model failed, or gives no probabilities.
    """
    done = 0

    async def answer(pair: LabelledPair) -> Answered:
        nonlocal done
        found = await question.ask(pair.claim, pair.source, title=pair.title)
        done += 1
        told(done)
        return Answered(pair.label, pair.group, found.chances)

    try:
        async with asyncio.TaskGroup() as tasks:
            asked = [tasks.create_task(answer(pair)) for pair in pairs]
    except* ModelError as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in asked]
