"""The contract between a reader of pages and the code that asks it.

The protocol `StanceReader`, the reading that it returns, and the errors that it raises belong here.
The readers themselves stand beside this file: `plain.py`, `entailment.py`, `labels.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from factible_assets.reasoners.readers.passages import Selection
from factible_assets.records import Stance
from factible_assets.stages.ports import ReasonerOutageError
from resources.llm.base import ModelCall

Ground = Literal["assertion", "denial", "number", "name", "answer", "rating", "inference", "label"]
"""Why a page takes its side.

It states the claim, denies it, gives another figure or name, answers the claim as a question, or
rates the claim; or an entailment model or a label reader says so.
"""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a page says of a claim, and where.

    `confidence` is the probability that the stance is right, in [0, 1]; it is 0 for "unclear".
    `bearing` is the probability that the page speaks of the claim at all, in [0, 1], or None if the
    reader cannot tell. `quotes` are raw spans of the page that carry the stance, the best first.
    `in_page` is False if only the snippet of the search hit says so. `calls` are the model calls
    that the reading took, with the prompt of `prompt_version`; the code that asks knows for which
    video and claim, and makes rows of them.
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
    """The model behind a reader failed. Its `model_calls` were made all the same."""

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
    """Reads what the passages of one page say of one claim."""

    @property
    def name(self) -> str:
        """Return a name for metadata, such as "plain" or "labels by qwen2.5-coder-1.5b"."""
        ...

    async def read(self, claim: str, selection: Selection, *, title: str) -> Reading:
        """Read the selected passages of a page against a claim.

        `title` is the page's title. It tells what the passages are about and is never quoted.

        Raises:
            ReadingOutageError: The model behind the reader failed or could not be loaded.
        """
        ...


class FirstDecided:
    """Asks several readers in turn; the first one that takes a side decides.

    A reader that is certain and free stands before one that costs time. If no reader takes a side,
    the last one's reading counts, because it tells how far the page bears on the claim.
    """

    def __init__(self, *readers: StanceReader) -> None:
        self._readers = readers

    @property
    def name(self) -> str:
        """Return the names of the readers in their order."""
        return ", then ".join(reader.name for reader in self._readers)

    async def read(self, claim: str, selection: Selection, *, title: str) -> Reading:
        """Read a page with one reader after the other; see `StanceReader.read`."""
        said = Reading()
        for reader in self._readers:
            said = await reader.read(claim, selection, title=title)
            if said.stance != "unclear":
                break
        return said
