"""The reader that `factible models pull reader` fetches: it reads well enough to be believed.

One half of the pairs' groups fits the calibration, the other half is read with it.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest

from factible_assets.reasoners.embedded.embedder import minilm
from factible_assets.reasoners.readers.calibration import figures, find_calibration, fit
from factible_assets.reasoners.readers.labels import LabelQuestion, LabelReader, labels_prompt
from factible_assets.reasoners.readers.pairs import LabelledPair, answer_pairs, shipped_pairs
from factible_assets.reasoners.readers.passages import select_passages
from resources.llm.labels import LabelModel
from resources.llm.local import LocalServer, local_model
from resources.models.base import known_models
from tests.real_model import WHY_SKIPPED, weights

pytest.importorskip("xllamacpp", reason=WHY_SKIPPED)
pytestmark = pytest.mark.timeout(7_200)

IDENTITY = known_models()["reader"].files[0].sha256 or ""


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the server process, which ends soon after the last test."""
    return tmp_path_factory.mktemp("serving")


@pytest.fixture
async def model(serving: Path) -> AsyncIterator[LabelModel]:
    async with aclosing(local_model("reader", IDENTITY, LocalServer(weights(), serving))) as opened:
        yield LabelModel(opened, "reader")


def halves() -> tuple[list[LabelledPair], list[LabelledPair]]:
    """Return some pairs for the fit and others for reading, without those that need reasoning.

    Each has every fourth written passage and every fifth pair of VitaminC.
    """
    pairs = [pair for pair in shipped_pairs() if pair.kind != "step"]
    drawn = [pair for pair in pairs if pair.kind == "vitaminc"]
    passages = sorted({pair.group for pair in pairs if pair.kind != "vitaminc"})
    one, other = (
        [pair for pair in pairs if pair.group in passages[start::4]] + drawn[start::5]
        for start in (0, 2)
    )
    return one, other


async def test_it_reads_held_out_pairs_well(model: LabelModel) -> None:
    question = LabelQuestion(model, labels_prompt())
    seen, held_out = [await answer_pairs(question, pairs) for pairs in halves()]
    curves = fit(seen)
    found = figures([(pair, curves.judge(pair.chances), curves.threshold) for pair in held_out])
    assert found.auc >= 0.8
    assert found.bearing_auc >= 0.75
    assert found.precision >= 0.75
    assert found.decided >= 0.2


async def test_a_page_is_read_with_its_own_calibration_and_quoted(model: LabelModel) -> None:
    page = (
        "The council of the town met on Monday. It raised the bus fare from 2 euros to 2.50 euros. "
        "A proposal for 3 euros was rejected by a large majority. The park gets new benches."
    )
    claim = "The council rejected a bus fare of three euros."
    embedder, curves = minilm(), find_calibration(IDENTITY, labels_prompt().version)
    assert curves is not None
    selection = select_passages(claim, page, embedder, title="Town news")
    said = await LabelReader(model, curves, embedder).read(claim, selection, title="Town news")
    assert said.stance == "supports"
    assert said.confidence >= curves.threshold
    assert [page[slice(*span)] for span in said.quotes] == [
        "A proposal for 3 euros was rejected by a large majority."
    ]
    assert {call.outcome for call in said.calls} == {"ok"}


async def test_the_instructions_are_computed_once(model: LabelModel) -> None:
    question = LabelQuestion(model, labels_prompt())
    first = await question.ask("Bats fly.", "Bats are mammals that fly.", title="Bats")
    again = await question.ask("Cats purr.", "Cats purr when they are content.", title="Cats")
    assert (again.calls[0].cached_tokens or 0) > 0.7 * first.calls[0].input_tokens


def test_the_server_is_gone_soon_after_its_last_user(serving: Path) -> None:
    def keepers() -> list[int]:
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                command = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if os.fsencode(serving) in command:
                found.append(int(folder.name))
        return found

    until = time.monotonic() + 120
    while keepers():
        assert time.monotonic() < until
        time.sleep(0.2)
