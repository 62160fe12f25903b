"""Compares the ledger with the servers' bill over repeated kills.

`factible check` runs against services on loopback and is killed without warning after a number of
requests; the same command resumes, is killed again, and so on until it finishes. The script then
compares the rows of `llm_calls` with the model server's answers. It prints for all data folders
together

- the answered requests, and those with a row with a cost: none may be missing;
- the estimated rows of requests in flight at a kill;
- the requests to the model and the searches that were sent again, because a kill lost their answer;
- dollars on both sides, without these and with them,

and exits with 1 if an answered request has no row, or if one that was not in flight was paid twice.

python -m benchmarks.ledger --kills 60
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from factible_assets.cli.main import app
from factible_assets.errors import ExitCode
from resources.llm.registry import PROJECT_MODELS, ModelRegistry
from tests.end_to_end.loopback import CHAT, SEARCH, VIDEO_URL, LoopbackWorld, loopback_world
from tests.resources.llm.servers import USAGE
from warehouse.store import Warehouse

MODEL = "gpt-4o-mini"
KEYS = {"SERPER_API_KEY": "a-key", "OPENAI_API_KEY": "another-key", "FACTIBLE_MODEL": MODEL}
QUESTIONS = 9
"""The most requests before a kill; a whole check sends about 30."""
MOST_IN_A_ROW = 8
PROCESSES = multiprocessing.get_context("forkserver")
"""Checks run in forked processes that share the loaded libraries."""
LOADED = (
    "factible_assets.cli.check",
    "factible_assets.definitions",
    "factible_assets.report.writing",
    "factible_assets.services.transcripts",
    "factible_assets.services.web",
    "resources.llm.clients",
)
SECONDS = 3_600
"""For a check on a busy machine; on an idle one it takes ten."""


@dataclass
class Ledger:
    """Both sides of one data folder, or of several."""

    kills: int = 0
    answered: int = 0
    rows: int = 0
    estimates: int = 0
    repeated: int = 0
    searches: int = 0
    repeated_searches: int = 0
    billed_usd: float = 0.0
    certain_usd: float = 0.0
    estimated_usd: float = 0.0

    def add(self, other: Ledger) -> None:
        """Add another folder."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)

    @property
    def missing(self) -> int:
        """Paid requests without a row."""
        return max(0, self.answered - self.rows - self.estimates)

    @property
    def paid_twice(self) -> int:
        """Requests that were sent again although their answer had come."""
        return max(0, self.repeated - self.estimates)


def factible_check(environment: dict[str, str], folder: str) -> None:
    """Run `factible check` in its own process."""
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    app(["check", VIDEO_URL, "--quiet"])


def _kill(process: int | None) -> None:
    assert process is not None
    with suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)


def check(world: LoopbackWorld, kill_after: int | None) -> bool:
    """Run a check and kill it after the given number of requests. Return whether it finished."""
    environment = dict(os.environ)
    for name, value in world.environment.items():
        environment.pop(name, None)
        environment |= {} if value is None else {name: value}
    before = len(world.server.asked)
    PROCESSES.set_forkserver_preload([*LOADED])
    process = PROCESSES.Process(target=factible_check, args=(environment, str(world.work)))
    process.start()
    deadline = time.monotonic() + SECONDS
    while process.is_alive():
        if time.monotonic() > deadline:
            _kill(process.pid)
            raise RuntimeError(f"A check took longer than {SECONDS} seconds.")
        if kill_after is not None and len(world.server.asked) - before >= kill_after:
            _kill(process.pid)
            process.join()
            return False
        time.sleep(0.001)
    if process.exitcode not in {ExitCode.DONE, ExitCode.INCOMPLETE}:
        raise RuntimeError(f"A check that nobody killed ended with {process.exitcode}.")
    return True


def ledger(folder: Path, chance: random.Random, kills: int) -> Ledger:
    """Check a video with up to so many kills; return both sides."""
    found = Ledger()
    with loopback_world(folder) as world:
        world.settings = KEYS
        while found.kills < kills and not check(world, chance.randint(1, QUESTIONS)):
            found.kills += 1
            print(f"killed after {world.server.count(CHAT)} answers of the model", flush=True)
        check(world, None)
        found.answered, found.searches = world.server.count(CHAT), world.server.count(SEARCH)
        asked = world.questions()
        found.repeated = found.answered - sum(CHAT in each for each in asked)
        found.repeated_searches = found.searches - sum(f" {SEARCH} " in each for each in asked)
    price = ModelRegistry.load(PROJECT_MODELS).model(MODEL).price
    assert price is not None
    found.billed_usd = found.answered * price.cost(*USAGE)
    store = Warehouse(folder / "home" / "warehouse.duckdb")
    rows = store.query(
        "SELECT coalesce(usage_reported, true), count(*), sum(cost_usd) FROM llm_calls "
        "WHERE cost_usd > 0 GROUP BY ALL"
    )
    for reported, count, usd in rows.rows():
        if reported:
            found.rows, found.certain_usd = count, usd
        else:
            found.estimates, found.estimated_usd = count, usd
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chance = random.Random(options.seed)  # noqa: S311 - to be repeated, not to be secret
    total = Ledger()
    while total.kills < options.kills:
        with tempfile.TemporaryDirectory() as folder:
            most = min(MOST_IN_A_ROW, options.kills - total.kills)
            total.add(ledger(Path(folder), chance, most))
    print(f"kills: {total.kills}")
    print(f"requests answered: {total.answered}, with a row: {total.rows}")
    print(f"rows of requests that were on their way: {total.estimates} (estimates)")
    print(f"missing: {total.missing}; sent again: {total.repeated}, paid twice: {total.paid_twice}")
    print(f"searches: {total.searches}, sent again: {total.repeated_searches}")
    print(
        f"billed ${total.billed_usd:.6f}; recorded ${total.certain_usd:.6f}, and "
        f"${total.estimated_usd:.6f} estimated"
    )
    return 1 if total.missing or total.paid_twice else 0


if __name__ == "__main__":
    sys.exit(main())
