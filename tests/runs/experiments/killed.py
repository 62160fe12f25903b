"""Runs an experiment and kills its own process (SIGKILL) before the second variant's verdicts.

Run as `python -m tests.runs.experiments.killed FOLDER`.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from factible_assets.records.tables import Claim, Evidence, Video
from factible_assets.runs.experiments import runner, surroundings
from factible_assets.stages.ports import VerdictDraft, Vote, WithCalls
from tests.runs.experiments import material

VARIANTS = """
experiment: killed
videos: [talk-one]
settings:
  max_claims: 2
one_at_a_time:
  min_weight: [0.25, 0.5]
  max_results: [1]
"""


class DyingMind(material.CountingMind):
    """Kills its process at the fourth verdict."""

    async def judge(
        self, video: Video, claim: Claim, evidence: Sequence[Evidence], vote: Vote
    ) -> WithCalls[VerdictDraft]:
        judged = await super().judge(video, claim, evidence, vote)
        if sum(n for (kind, _), n in self.world.asked.items() if kind == "judge") == 4:
            os.kill(os.getpid(), signal.SIGKILL)
        return judged


def main(folder: Path) -> None:
    """Run until death."""
    settings = material.settings_in(folder)
    patch = pytest.MonkeyPatch()
    patch.setattr(material, "CountingMind", DyingMind)
    patch.setattr(runner, "open_services", material.Machine().open)
    patch.setattr(surroundings, "code_version", lambda: "code")
    experiment = material.experiment_of(VARIANTS, settings)
    runner.run_experiment(experiment, material.corpora_of(settings), settings)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
