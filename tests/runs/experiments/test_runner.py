"""Running experiments: shared work, production rows, resumption, failures."""

from __future__ import annotations

import asyncio
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from filelock import FileLock

from factible_assets.records.tables import Claim, Evidence, Query, Transcript, Verdict, Video
from factible_assets.runs.experiments import runner, stage_keys
from factible_assets.runs.experiments.plan import Experiment, ExperimentError
from factible_assets.runs.experiments.results import run_and_score, scored_again
from factible_assets.runs.experiments.runner import VariantOutcome, run_experiment
from factible_assets.runs.experiments.store import ExperimentStore, experiment_file
from factible_assets.settings import Settings
from factible_assets.stages.flow import FlowResult, check_claims, extract_claims
from factible_assets.stages.ports import Observer
from resources.errors import SetupError
from tests.runs.experiments.killed import VARIANTS
from tests.runs.experiments.material import CLAIMS, Machine, corpora_of, experiment_of, settings_in
from tests.stages.words import from_text
from tests.warehouse.samples import write_asset
from warehouse.rows import Stamp
from warehouse.store import Warehouse

ROOT = Path(__file__).resolve().parents[3]

BASE = """
experiment: sharing
videos: [talk-one]
settings:
  max_claims: 2
"""
SHARING = f"""{BASE}
one_at_a_time:
  max_results: [1]
  min_margin: [0.5]
"""


@dataclass(frozen=True)
class Once:
    """A finished experiment."""

    settings: Settings
    experiment: Experiment
    ran: list[VariantOutcome]
    store: ExperimentStore
    machine: Machine


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_in(tmp_path)


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """The experiment on sharing, run once for all tests that look at it."""
    made = settings_in(tmp_path_factory.mktemp("once"))
    machine = Machine()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "open_services", machine.open)
        patch.setattr(stage_keys, "code_version", lambda: "code")
        experiment = experiment_of(SHARING, made)
        ran, store = run(experiment, made)
    return Once(made, experiment, ran, store, machine)


@pytest.fixture
def after(once: Once, settings: Settings) -> Settings:
    """A machine with a finished experiment on sharing."""
    file = experiment_file(settings, "sharing")
    file.parent.mkdir()
    shutil.copyfile(once.store.path, file)
    return settings


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine()
    monkeypatch.setattr(runner, "open_services", made.open)
    # An edit of the code during the tests must not change the keys.
    monkeypatch.setattr(stage_keys, "code_version", lambda: "code")
    return made


def done(ran: list[VariantOutcome], how: str) -> int:
    return sum(len(getattr(each, how)) for each in ran)


def run(
    experiment: Experiment, settings: Settings, *, fresh: bool = False, jobs: int = 2
) -> tuple[list[VariantOutcome], ExperimentStore]:
    return run_experiment(experiment, corpora_of(settings), settings, fresh=fresh, jobs=jobs)


def rows_of(store: ExperimentStore, variant: str, asset: str, record: type) -> list[object]:
    rows = store.read("talk-one", {asset: variant})
    return [row for row in rows.of_asset(asset) if isinstance(row, record)]


def test_shared_stages_are_computed_once(once: Once) -> None:
    by_variant = {each.variant: each for each in once.ran}
    assert len(by_variant["base"].computed) == 6
    assert by_variant["max_results=1"].shared == ("claims", "queries")
    assert by_variant["min_margin=0.5"].computed == ("verdicts",)
    counts = once.machine.counts()
    # Two claims of two queries each. The second variant searches and reads anew, the third votes.
    assert counts["claims"] == 1
    assert counts["queries"] == 2
    assert counts["search"] == 2 * 4
    assert counts["read"] == 2 * 2 * 2 + 2 * 2 * 1


def test_a_shared_stage_equals_one_computed_alone(
    once: Once, settings: Settings, machine: Machine
) -> None:
    for name, variant in zip(("e", "killed"), once.experiment.variants[1:], strict=True):
        alone = replace(once.experiment, name=name, variants=(variant,), baseline=variant.name)
        _, own = run(alone, settings)
        for asset, record in (
            ("claims", Claim),
            ("queries", Query),
            ("evidence", Evidence),
            ("verdicts", Verdict),
        ):
            together = rows_of(once.store, variant.name, asset, record)
            assert together == rows_of(own, variant.name, asset, record) != []


def test_an_experiment_computes_what_production_computes(
    settings: Settings, machine: Machine
) -> None:
    experiment = experiment_of(
        "experiment: e\nvideos: [talk-one]\nsettings: {max_claims: 2}\n", settings
    )
    _, store = run(experiment, settings)
    video = experiment.videos[0].video
    words = from_text(video.video_id, f"{'. '.join(CLAIMS)}.")
    config = experiment.variants[0].config

    async def produced() -> FlowResult:
        services = machine.services(Observer())
        found = await extract_claims(video, words, (), services, config.claims)
        return await check_claims(video, found.claims, services, config)

    assert rows_of(store, "base", "verdicts", Verdict) == list(asyncio.run(produced()).verdicts)


def test_a_second_run_computes_nothing(after: Settings, machine: Machine) -> None:
    again, _ = run(experiment_of(SHARING, after), after)
    assert (done(again, "computed"), done(again, "shared"), done(again, "kept")) == (0, 0, 18)
    assert machine.counts() == {}


def test_fresh_starts_over(after: Settings, machine: Machine) -> None:
    again, store = run(experiment_of(BASE, after), after, fresh=True)
    assert (done(again, "kept"), done(again, "computed")) == (0, 6)
    assert machine.counts()["claims"] == 1
    assert not store.has("min_margin=0.5", "talk-one", "claims")


def test_a_new_variant_reuses_the_stages_of_others(after: Settings, machine: Machine) -> None:
    wider = SHARING.replace("[0.5]", "[0.5, 0.9]")
    ran, _ = run(experiment_of(wider, after), after)
    assert done(ran, "computed") == 1
    assert machine.counts() == {}


def test_a_changed_setting_replaces_the_rows_of_its_variant(
    settings: Settings, machine: Machine
) -> None:
    one = "experiment: e\nvideos: [talk-one]\nvariants: {mine: {max_claims: 1}}\n"
    _, store = run(experiment_of(one, settings), settings)
    assert len(rows_of(store, "mine", "verdicts", Verdict)) == 1
    two = one.replace("max_claims: 1", "max_claims: 2")
    ran, store = run(experiment_of(two, settings), settings)
    assert done(ran, "computed") == 6
    assert len(rows_of(store, "mine", "verdicts", Verdict)) == 2
    # The new rows replaced the old ones, so the old key finds nothing.
    again, store = run(experiment_of(one, settings), settings)
    assert done(again, "computed") == 6
    assert len(rows_of(store, "mine", "verdicts", Verdict)) == 1


def test_a_killed_experiment_resumes_where_it_stopped(
    settings: Settings, machine: Machine, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.runs.experiments.killed", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    ran, store = run(experiment_of(VARIANTS, settings), settings)
    by_variant = {each.variant: each for each in ran}
    # The first variant was whole; the second had everything but its verdicts from the first.
    assert by_variant["base"].kept != ()
    assert by_variant["base"].computed == ()
    assert by_variant["min_weight=0.5"].computed == ("verdicts",)
    assert len(rows_of(store, "min_weight=0.5", "verdicts", Verdict)) == 2
    assert machine.counts()["claims"] == 0


def test_the_production_rows_stay_as_they_are(settings: Settings, machine: Machine) -> None:
    production = Warehouse(settings.warehouse)
    transcript = from_text("talk-one", "Owls fly. Bees sleep.")
    video = Video(video_id="talk-one", title="One")
    stamp = Stamp("production", datetime(2026, 1, 2, tzinfo=UTC))
    write_asset(
        production, "transcripts", "talk-one", [video, transcript], stamp=stamp, code_version="1"
    )
    before = production.query("SELECT * FROM materializations").rows()
    _, store = run(experiment_of("experiment: e\nvideos: [talk-one]\n", settings), settings)
    assert production.query("SELECT * FROM materializations").rows() == before
    # The words are those that production stored, not those of the file.
    (words,) = rows_of(store, "base", "transcripts", Transcript)
    assert words == transcript


def test_a_changed_transcript_is_checked_again(after: Settings, machine: Machine) -> None:
    (after.home_corpora / "one.txt").write_text("Cats swim. Bees sleep.")
    ran, _ = run(experiment_of(BASE, after), after)
    assert (done(ran, "kept"), done(ran, "computed")) == (0, 6)


def test_a_failed_claim_extraction_is_repeated_and_jobs_limits_the_videos_at_once(
    settings: Settings, machine: Machine
) -> None:
    experiment = experiment_of("experiment: e\nsettings: {max_claims: 1}\n", settings)
    machine.world.broken.add(("claims", "talk-two"))
    ran, store = run(experiment, settings, jobs=1)
    # One after the other, the first listed first.
    assert machine.opened == ["talk-one in the variant base", "talk-two in the variant base"]
    assert {each.video_id for each in ran if each.failure} == {"talk-two"}
    assert {each.failure for each in ran if each.failure} == {
        "No claims could be extracted: the model is overloaded"
    }
    assert not store.has("base", "talk-two", "claims")
    machine.world.broken.clear()
    again, _ = run(experiment, settings)
    assert not any(each.failure for each in again)
    assert done(again, "kept") == 6


def test_incomplete_verdicts_are_repeated_from_the_failed_stage(
    settings: Settings, machine: Machine
) -> None:
    experiment = experiment_of("experiment: e\nvideos: [talk-one]\n", settings)
    for text, pages in machine.world.results.items():
        if text.startswith("Bees sleep"):
            machine.world.broken |= {("fetch", hit.url) for hit in pages[0]}
    ran, _ = run(experiment, settings)
    assert sum(each.incomplete for each in ran) == 1
    machine.world.broken.clear()
    again, store = run(experiment, settings)
    assert sum(each.incomplete for each in again) == 0
    assert again[0].kept == ("claims", "queries", "search_hits", "reliability_ratings")
    verdicts = store.read("talk-one", {"verdicts": "base"}).verdicts
    assert {each.status for each in verdicts} == {"complete"}


def test_an_unreadable_transcript_fails_only_its_video(
    settings: Settings, machine: Machine
) -> None:
    experiment = experiment_of("experiment: e\nsettings: {max_claims: [1, 2]}\n", settings)
    (settings.home_corpora / "two.txt").write_bytes(b"\x00\x01\x02" * 100)
    ran, _ = run(experiment, settings)
    assert [(each.video_id, each.variant) for each in ran if each.failure] == [
        ("talk-two", "max_claims=1"),
        ("talk-two", "max_claims=2"),
    ]
    assert "two.txt" in next(each.failure for each in ran if each.failure)


def test_the_date_limit_and_the_ratings_of_a_corpus_entry_hold_in_an_experiment(
    settings: Settings, machine: Machine
) -> None:
    corpus = settings.home_corpora / "small.yaml"
    own = "{published_before: 2020-01-31, pages_rating: low, id: talk-"
    corpus.write_text(corpus.read_text().replace("{id: talk-", own))
    one = "experiment: e\nvideos: [talk-one]\nsettings: {pages_rating: high}\n"
    run(experiment_of(one, settings), settings)
    assert set(machine.world.before) == {date(2020, 1, 31)}
    told = {(each["listed"].entry.pages_rating, each["pages_rating"]) for each in machine.options}
    assert told == {("low", "high")}


def test_an_experiment_runs_in_one_process_at_a_time(settings: Settings, machine: Machine) -> None:
    file = experiment_file(settings, "sharing")
    with (
        FileLock(file.with_suffix(".lock")),
        pytest.raises(ExperimentError, match="Another process runs the experiment"),
    ):
        run(experiment_of(SHARING, settings), settings)


def test_a_missing_service_is_refused_before_any_work(settings: Settings, machine: Machine) -> None:
    model = "experiment: e\nsettings: {model: [gpt-4o, gpt-4o-mini]}\n"
    with pytest.raises(SetupError, match="OPENAI_API_KEY"):
        run(experiment_of(model, settings), settings)
    with pytest.raises(SetupError, match="SERPER_API_KEY"):
        run(experiment_of("experiment: e\nsettings: {web: live}\n", settings), settings)
    assert machine.counts() == {}


def test_each_variant_has_its_own_models_and_its_own_budget(
    settings: Settings, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FACTIBLE_MODEL", "gpt-4o")
    ours = Settings(home=settings.home)
    text = "experiment: e\nvideos: [talk-one]\nsettings: {model: ['qwen3:8b', 'qwen3:4b']}\n"
    run(experiment_of(text, ours), ours)
    assert machine.models == ["qwen3:8b", "qwen3:4b"]
    assert machine.opened == [
        "talk-one in the variant model=qwen3:8b",
        "talk-one in the variant model=qwen3:4b",
    ]
    # Another model is another question, even with the same options.
    assert machine.counts()["claims"] == 2
    assert ours.model == "gpt-4o"


def test_a_variant_can_be_scored_from_its_rows(once: Once) -> None:
    scored = scored_again(once.experiment, once.settings)
    seconds = {
        variant: next(
            figure.value
            for figure in evaluation.per_video["talk-one"]
            if figure.name == "seconds to first verdict"
        )
        for variant, evaluation in scored.items()
    }
    assert seconds["base"] is not None
    # It never ran alone, so nobody knows how long it would have taken to the first verdict.
    assert seconds["min_margin=0.5"] is None
    complete = scored["base"].figure("complete verdicts", "micro")
    assert complete is not None
    assert complete.value == 1


def test_a_failed_video_has_no_figures_and_is_recorded(
    settings: Settings, machine: Machine
) -> None:
    experiment = experiment_of("experiment: e\nsettings: {max_claims: 1}\n", settings)
    corpora = corpora_of(settings)
    run_and_score(experiment, corpora, settings)
    (settings.home_corpora / "two.txt").write_text("Ants sing. Cows moo.")
    machine.world.broken.add(("claims", "talk-two"))
    run_and_score(experiment, corpora, settings)
    main = Warehouse(settings.warehouse)
    known = main.query("SELECT variant, failed_videos FROM experiment_variants ORDER BY 1").rows()
    assert known == [("base", 1)]
    sets = main.query(
        "SELECT video_id, status, count(*), count(*) FILTER (source <> variant) "
        "FROM experiment_sets GROUP BY ALL ORDER BY 1"
    ).rows()
    assert sets == [("talk-one", "ok", 6, 0), ("talk-two", "failed", 1, 0)]
    # The rows of the earlier, complete run are still in the file.
    assert {each.videos for each in scored_again(experiment, settings).values()} == {1}
