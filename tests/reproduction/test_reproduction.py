from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benchmarks.reproduction.cells import Cell, agreeing_digits
from benchmarks.reproduction.layout import PublishedLayoutError, read_published
from benchmarks.reproduction.report import PublishedReport, recompute_published
from benchmarks.reproduction.tables import printed_tables
from factible_assets.evaluation.matching import Similarity
from factible_assets.reasoners.embedded.embedder import OnnxEmbedder, minilm
from tests.reproduction.published_folder import RUN, VIDEO, evaluation, write_json, write_published
from tests.shared_data import shared_data

JUDGED = {
    "claim_extraction.claim_quality_avg",
    "verdict_accuracy.explanation_quality_avg",
    "query_generation.query_claim_relevance_avg",
    "evidence_search.evidence_relevance_avg",
}


def recomputed(folder: Path, similarity: Similarity | None = None) -> dict[str, Cell]:
    report = recompute_published(read_published(folder), similarity or Similarity(minilm()))
    return {cell.metric: cell for cell in report.cells()}


def changed(folder: Path, section: str, **values: object) -> None:
    recorded = evaluation()
    recorded[section] |= values
    write_json(folder / "eval_results" / "max_claims_3" / f"{VIDEO}.json", recorded)


def test_every_value_is_reproduced_from_a_runs_outputs(tmp_path: Path) -> None:
    cells = recomputed(write_published(tmp_path))
    outcomes = {metric: cell.outcome for metric, cell in cells.items()}
    assert {metric for metric, outcome in outcomes.items() if outcome == "differs"} == set()
    assert {name for name, outcome in outcomes.items() if outcome == "not recomputable"} == JUDGED
    assert outcomes["end_to_end.claim_quality_avg"] == "never filled in"
    assert sum(outcome == "reproduced" for outcome in outcomes.values()) == 32
    assert cells["claim_extraction.mean_average_precision"].digits == 15


def test_a_value_that_the_outputs_contradict_is_shown_with_its_digits(tmp_path: Path) -> None:
    folder = write_published(tmp_path)
    changed(folder, "query_generation", avg_sources_per_query=0.66)
    cell = recomputed(folder)["query_generation.avg_sources_per_query"]
    assert (cell.outcome, cell.digits) == ("differs", 1)
    assert cell.recomputed == pytest.approx(4 / 6)
    assert cell.reason == "the published files contradict it"


def test_a_match_that_falls_on_the_other_side_is_named_as_the_cause(tmp_path: Path) -> None:
    folder = write_published(tmp_path)
    recorded = evaluation()["claim_extraction"]
    changed(
        folder,
        "claim_extraction",
        precision=1 / 3,
        matched_claims=recorded["matched_claims"][:1],
        extra_claims=[*recorded["extra_claims"], recorded["matched_claims"][1]["sys_text"]],
    )
    cell = recomputed(folder)["claim_extraction.precision"]
    assert cell.outcome == "differs"
    assert cell.reason is not None
    assert "claim 3 and annotation 3 are alike by 1.0000 here and were not matched" in cell.reason
    assert "from the recorded matches it is reproduced to 15 digits" in cell.reason


def test_without_the_run_the_recorded_matches_give_what_they_determine(tmp_path: Path) -> None:
    cells = recomputed(write_published(tmp_path, with_run=False))
    assert all(cell.outcome != "differs" for cell in cells.values())
    for metric in ("claim_extraction.f1_score", "verdict_accuracy.stance_accuracy"):
        assert (cells[metric].outcome, cells[metric].digits) == ("reproduced", 15)
    assert cells["evidence_search.avg_evidence_per_claim"].outcome == "reproduced"
    order = cells["claim_extraction.mean_average_precision"]
    assert order.outcome == "consistent"
    assert order.reason is not None
    assert "hits at ranks 1, 3 give this value" in order.reason
    assert cells["end_to_end.total_time_seconds"].outcome == "not recomputable"
    assert cells["query_generation.avg_sources_per_query"].outcome == "not recomputable"


def test_an_average_precision_that_no_order_gives_is_found_out(tmp_path: Path) -> None:
    folder = write_published(tmp_path, with_run=False)
    changed(folder, "claim_extraction", mean_average_precision=0.9)
    cell = recomputed(folder)["claim_extraction.mean_average_precision"]
    assert cell.outcome == "differs"
    assert cell.recomputed == pytest.approx((1 + 2 / 3) / 2)


def test_a_run_with_other_claims_is_not_taken_for_the_evaluated_one(tmp_path: Path) -> None:
    folder = write_published(tmp_path)
    file = folder / "runs" / "max_claims_3" / RUN / "outputs.json"
    outputs = json.loads(file.read_text(encoding="utf-8"))
    outputs["extracted_claims"]["claims"][0]["text"] = "Something else."
    write_json(file, outputs)
    report = recompute_published(read_published(folder), Similarity(minilm()))
    (video,) = report.settings[0].videos
    assert video.source is None
    cells = {cell.metric: cell for cell in video.cells}
    # Its duration is recorded all the same, and its settings say how many queries there were.
    assert cells["end_to_end.total_time_seconds"].reason == f"as in the run {RUN}"
    assert cells["query_generation.avg_sources_per_query"].outcome == "reproduced"


def test_a_run_with_the_same_claims_shows_their_order(tmp_path: Path) -> None:
    folder = write_published(tmp_path)
    changed(folder, "end_to_end", total_time_seconds=12.0)
    cells = recomputed(folder)
    assert cells["claim_extraction.mean_average_precision"].outcome == "reproduced"
    assert cells["end_to_end.total_time_seconds"].outcome == "not recomputable"


def test_the_latest_of_several_fitting_runs_is_taken(tmp_path: Path) -> None:
    folder = write_published(tmp_path)
    later = folder / "runs" / "max_claims_3" / f"20251215_000000_{VIDEO}"
    (folder / "runs" / "max_claims_3" / RUN).rename(later)
    write_published(tmp_path)
    report = recompute_published(read_published(folder), None)
    assert report.settings[0].videos[0].source == later.name


def test_without_a_measure_the_recorded_matches_are_taken_and_said_to_be(tmp_path: Path) -> None:
    report = recompute_published(read_published(write_published(tmp_path)), None)
    assert report.matcher.assignment == "recorded"
    cells = {cell.metric: cell for cell in report.cells()}
    assert cells["claim_extraction.precision"].outcome == "reproduced"
    assert cells["claim_extraction.matched_claims"].outcome == "consistent"


@pytest.mark.parametrize("part", ["outputs", "metrics", "config"])
@pytest.mark.parametrize("content", [None, "{", "[]"])
def test_a_broken_file_costs_only_what_needs_it(
    tmp_path: Path, part: str, content: str | None
) -> None:
    folder = write_published(tmp_path)
    file = folder / "runs" / "max_claims_3" / RUN / f"{part}.json"
    file.unlink() if content is None else file.write_text(content, encoding="utf-8")
    cells = recomputed(folder)
    assert cells["claim_extraction.precision"].outcome == "reproduced"
    assert all(cell.outcome != "differs" for cell in cells.values())


def test_a_video_without_ground_truth_is_a_problem_and_not_a_value(tmp_path: Path) -> None:
    folder = write_published(tmp_path)
    (folder / "ground_truth" / f"{VIDEO}.yaml").unlink()
    report = recompute_published(read_published(folder), None)
    assert list(report.cells()) == []
    assert any("ground truth" in problem for problem in report.problems)


def test_an_unknown_value_is_listed_as_undefined(tmp_path: Path) -> None:
    folder = write_published(tmp_path)
    changed(folder, "claim_extraction", novelty=0.5)
    cell = recomputed(folder)["claim_extraction.novelty"]
    assert (cell.outcome, cell.reason) == ("not recomputable", "no definition of it is known")


def test_a_setting_reports_means_with_interval_and_baseline(tmp_path: Path) -> None:
    report = recompute_published(read_published(write_published(tmp_path)), None)
    rows = {row.metric: row for row in report.settings[0].rows}
    accuracy = rows["stance accuracy"]
    assert accuracy.recomputed.value == 0.5
    assert accuracy.recomputed.baseline == 0.5
    assert accuracy.recomputed.interval is None
    assert (accuracy.reproduced, accuracy.videos) == (1, 1)


def add_videos(folder: Path, setting: str) -> None:
    """Add 29 videos like the first: the printed tables are over 30."""
    truth = (folder / "ground_truth" / f"{VIDEO}.yaml").read_text(encoding="utf-8")
    for index in range(29):
        other = f"video-{index:04d}"
        (folder / "ground_truth" / f"{other}.yaml").write_text(truth, encoding="utf-8")
        write_json(folder / "eval_results" / setting / f"{other}.json", evaluation())


def test_the_printed_tables_are_compared_only_over_all_their_videos(tmp_path: Path) -> None:
    folder = write_published(tmp_path)
    assert printed_tables(recompute_published(read_published(folder), None)) == ()
    add_videos(folder, "max_claims_3")
    printed = printed_tables(recompute_published(read_published(folder), None))
    assert {(each.table, each.setting) for each in printed} == {(12, 3)}
    precision = next(each for each in printed if each.metric == "precision")
    assert (precision.printed, precision.agrees) == ("0.822", False)
    assert precision.recomputed == pytest.approx(2 / 3)
    assert precision.cause == "no cause is known"
    assert precision.videos == (30, 0, 0)


def test_a_printed_figure_that_is_not_the_recorded_one_says_why(tmp_path: Path) -> None:
    folder = write_published(tmp_path)
    (folder / "eval_results" / "max_claims_3").rename(folder / "eval_results" / "max_claims_5")
    add_videos(folder, "max_claims_5")
    printed = printed_tables(recompute_published(read_published(folder), None))
    causes = {(each.metric, each.statistic): each.cause for each in printed}
    assert "0.1296" in str(causes["importance MAE", "mean"])
    assert "re-scaled" in str(causes["seconds", "mean"])
    assert "sources per query" in str(causes["evidence per claim", "mean"])


@pytest.mark.parametrize("files", [(), ("eval_results/max_claims_3/broken.json",)])
def test_another_folder_is_refused_with_a_sentence(tmp_path: Path, files: tuple[str, ...]) -> None:
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("{", encoding="utf-8")
    with pytest.raises(PublishedLayoutError, match="eval_results"):
        read_published(tmp_path)
    with pytest.raises(PublishedLayoutError, match="no folder"):
        read_published(tmp_path / "nowhere")


@example(0.5, 0.45)
@given(st.floats(0, 1000), st.floats(0, 1000))
def test_numbers_agree_to_the_digits_that_are_said(first: float, second: float) -> None:
    digits = agreeing_digits(first, second)
    assert 0 <= digits <= 15
    if digits:
        assert abs(first - second) < 0.5 * 10.0**-digits
    if digits < 15:
        assert abs(first - second) >= 0.5 * 10.0 ** -(digits + 1)


def test_digits_of_some_numbers() -> None:
    assert agreeing_digits(0.8, 0.8) == 15
    assert agreeing_digits(0.813, 0.8133) == 3
    assert agreeing_digits(0.813, 0.8136) == 2
    assert agreeing_digits(1.0, 3.0) == 0


# --- The real folder ----------------------------------------------------------------------------


def real(similarity: Similarity | None) -> PublishedReport:
    return recompute_published(read_published(shared_data("factible")), similarity)


def test_all_that_was_published_is_reproduced_from_the_recorded_matches() -> None:
    report = real(None)
    assert report.problems == ()
    assert [setting.setting for setting in report.settings] == [1, 3, 5, 7, 10, 15]
    outcomes = Counter(cell.outcome for cell in report.cells())
    assert outcomes["differs"] == 0
    assert outcomes["reproduced"] >= 3000
    for cell in report.cells():
        if cell.setting != 5 and cell.metric not in JUDGED:
            assert cell.outcome != "not recomputable", cell


def test_the_embedding_matcher_makes_the_published_matches_but_for_borderline_pairs() -> None:
    report = real(Similarity(OnnxEmbedder()))
    assert report.matcher.assignment == "greedy"
    videos = [video for setting in report.settings for video in setting.videos]
    agreeing = sum(video.agreeing_matches for video in videos)
    assert agreeing / sum(video.all_matches for video in videos) > 0.98
    for cell in report.cells():
        if cell.outcome == "differs":
            # An 8-bit model moves pairs near the threshold; nothing else may differ.
            assert cell.reason is not None
            assert "from the recorded matches it is reproduced" in cell.reason
