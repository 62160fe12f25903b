"""An experiment over given claims extracts none."""

from __future__ import annotations

from pathlib import Path

import pytest

from factible_assets.runs.experiments import runner, stage_keys
from factible_assets.runs.experiments.estimate import estimate
from factible_assets.runs.experiments.runner import run_experiment
from factible_assets.settings import Settings
from tests.runs.experiments.material import CORPUS, Machine, corpora_of, experiment_of, settings_in

EXPERIMENT = """
experiment: given
videos: [talk-two]
settings: {max_claims: 1, reasoner: embedded, max_results: [1, 2]}
"""
GIVEN = CORPUS.replace("transcript: two.txt", "transcript: two.txt, claims_are_given: true")


def written(settings: Settings, corpus: str) -> None:
    (settings.home_corpora / "small.yaml").write_text(corpus)


def test_all_variants_share_given_claims_until_these_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine()
    monkeypatch.setattr(runner, "open_services", machine.open)
    monkeypatch.setattr(stage_keys, "code_version", lambda: "code")
    settings = settings_in(tmp_path)
    written(settings, GIVEN)
    experiment = experiment_of(EXPERIMENT, settings)
    # The estimate counts three queries per claim, and the world has two.
    planned = estimate(experiment, corpora_of(settings), settings)
    assert planned.pages == 2 * 3 * (1 + 2)
    ran, ledger = run_experiment(experiment, corpora_of(settings), settings)
    assert machine.counts()["claims"] == 0
    for outcome in ran:
        held = ledger.read("talk-two", {"claims": outcome.variant}).claims
        assert [(each.text, each.basis) for each in held] == [
            ("Cows moo", "given"),
            ("Ants sing", "given"),
        ]
    assert [len(each.shared) for each in ran] == [0, 2]
    written(settings, GIVEN.replace("text: Cows moo", "text: Cats swim"))
    again, _ = run_experiment(experiment_of(EXPERIMENT, settings), corpora_of(settings), settings)
    assert "claims" in again[0].computed
