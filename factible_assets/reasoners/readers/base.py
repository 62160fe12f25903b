"""The contract between a reader of pages and its callers: protocol, reading and errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from factible_assets.reasoners.readers.passages import Selection
from factible_assets.records.tables import Stance
from factible_assets.stages.ports import ReasonerOutageError
from resources.llm.base import ModelCall

Ground = Literal["assertion", "denial", "number", "name", "answer", "rating", "inference", "label"]
"""Why a page takes its side."""

GROUNDS: Mapping[tuple[Ground, Stance], str] = {
    ("assertion", "supports"): "It says the same.",
    ("denial", "refutes"): "It says that it is not so.",
    ("number", "refutes"): "It gives a different figure.",
    ("name", "refutes"): "It names another.",
    ("answer", "supports"): "It asks the claim as a question and answers yes.",
    ("answer", "refutes"): "It asks the claim as a question and answers no.",
    ("rating", "supports"): "It rates the claim as true.",
    ("rating", "refutes"): "It rates the claim as false.",
    ("rating", "mixed"): "It rates the claim as partly true.",
    ("inference", "supports"): "An entailment model reads it as support.",
    ("inference", "refutes"): "An entailment model reads it as a contradiction.",
    ("inference", "mixed"): "An entailment model reads it both ways.",
    ("label", "supports"): "A language model reads it as support.",
    ("label", "refutes"): "A language model reads it as a contradiction.",
    ("label", "mixed"): "A language model reads it both ways.",
}
"""The summary of evidence with a ground and a side."""


@dataclass(frozen=True, slots=True)
class PageReading:
    """The side of a page on a claim, with its grounds.

    `confidence` is the probability that the stance is right, in [0, 1]; it is 0 for "unclear".
    `bearing` is the probability that the page concerns the claim, in [0, 1], or None if the reader
    cannot tell. `quotes` are raw spans of the page that carry the stance, the best first. `in_page`
    is False if only the search snippet takes the side. `calls` are the model calls of the reading,
    with the prompt of `prompt_version`.
    """

    stance: Stance = "unclear"
    confidence: float = 0.0
    ground: Ground | None = None
    quotes: tuple[tuple[int, int], ...] = ()
    bearing: float | None = None
    in_page: bool = True
    calls: tuple[ModelCall, ...] = ()
    prompt_version: str = ""


class ReadingOutageError(ReasonerOutageError):
    """The model behind a reader failed, after the calls in `model_calls`."""

    def __init__(
        self,
        reason: str,
        *,
        model_calls: tuple[ModelCall, ...] = (),
        prompt_version: str = "",
        lasting: bool = False,
    ) -> None:
        super().__init__(reason, lasting=lasting)
        self.model_calls, self.prompt_version = model_calls, prompt_version


class StanceReader(Protocol):
    """Reads the passages of one page against one claim."""

    async def read(self, claim: str, selection: Selection, *, title: str) -> PageReading:
        """Read the selected passages of a page against a claim.

        The title may name the subject of the passages and is never quoted. Raises
        ReadingOutageError if the model behind the reader failed or could not be loaded.
        """
        ...


class FirstDecided:
    """Asks several readers in turn; the first that takes a side decides.

    Put readers that are precise and free first. If no reader takes a side, the reading of the last
    one counts, because it knows how far the page concerns the claim.
    """

    def __init__(self, *readers: StanceReader) -> None:
        self._readers = readers

    async def read(self, claim: str, selection: Selection, *, title: str) -> PageReading:
        reading = PageReading()
        for reader in self._readers:
            reading = await reader.read(claim, selection, title=title)
            if reading.stance != "unclear":
                break
        return reading
