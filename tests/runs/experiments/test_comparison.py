"""The variants of a finished experiment side by side: figures, tests, the page."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from factible_assets.evaluation.figures import paired_bootstrap, wilcoxon_signed_rank
from factible_assets.runs.experiments.comparison import Comparison, read_comparison
from factible_assets.runs.experiments.page import render_page, strip_scale
from factible_assets.runs.experiments.plan import ExperimentError
from tests.evaluation.test_scoring import two_videos
from tests.report.page import Page, hash_source
from warehouse.store import Warehouse

HOSTILE = "<script>alert(1)</script>\" onload='x' \x07\u202e"
VARIANTS = ("plain", "better", "gone")

BASE = {"v1": 0.2, "v2": 0.4, "v3": 0.3, "v4": 0.5, "v5": 0.1, "v6": 0.6}
BETTER = {"v1": 0.5, "v2": 0.6, "v3": 0.4, "v4": 0.9, "v5": 0.15, "v7": 1.0}


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    store = Warehouse(tmp_path_factory.mktemp("findings") / "warehouse.duckdb")
    store.write_rows(findings(), replacing=("experiment", "e"))
    return store


@pytest.fixture(scope="module")
def comparison(warehouse: Warehouse) -> Comparison:
    return read_comparison(warehouse, "e")


def findings() -> Mapping[str, Sequence[Any]]:
    values: Mapping[str, Mapping[str, float]] = {"plain": BASE, "better": BETTER, "gone": {}}
    now = datetime(2026, 1, 2, tzinfo=UTC)
    sets = [
        {
            "experiment": "e",
            "variant": variant,
            "video_id": "v1",
            "asset": "claims",
            "stage_key": "k",
            "source": source,
            "status": status,
            "reason": reason,
        }
        for variant, source, status, reason in (
            ("plain", "plain", "ok", None),
            ("better", "plain", "ok", None),
            ("gone", "gone", "failed", "the model is overloaded"),
        )
    ]
    figure = {"interval_low": None, "interval_high": None, "interval_level": None, "matcher": "m"}
    of_f1 = [
        {
            "experiment": "e",
            "variant": name,
            "metric": "F1",
            "averaging": averaging,
            "value": _mean(own),
            "n": len(own),
            "unit": "videos",
            "trivial": 0.1,
            **figure,
        }
        for name, own in values.items()
        for averaging in ("macro", "micro")
    ]
    undefined = {"metric": "macro-F1", "averaging": "micro", "value": None, "n": 0, "trivial": None}
    return {
        "experiments": [
            {
                "experiment": "e",
                "description": HOSTILE,
                "file": "e.yaml",
                "warehouse": "experiments/e.duckdb",
                "baseline": "plain",
                "matcher": "m",
                "code_version": "code",
                "videos": 7,
                "started_at": now,
                "finished_at": now,
            }
        ],
        "experiment_variants": [
            {
                "experiment": "e",
                "variant": name,
                "position": place,
                "is_baseline": name == "plain",
                "settings": f'{{"max_claims": {place}}}',
                "reasoner": "embedded",
                "models": "{}",
                "videos": 0 if name == "gone" else 7,
                "failed_videos": 7 if name == "gone" else 0,
            }
            for place, name in enumerate(VARIANTS, start=1)
        ],
        "experiment_sets": sets,
        "experiment_results": [
            *of_f1,
            *(of_f1[0] | undefined | {"variant": name} for name in VARIANTS),
        ],
        "experiment_video_results": [
            {
                "experiment": "e",
                "variant": name,
                "video_id": video,
                "metric": "F1",
                "value": value,
                "n": 1,
                "unit": "claims",
            }
            for name, own in values.items()
            for video, value in own.items()
        ],
    }


def _mean(values: Mapping[str, float]) -> float | None:
    return math.fsum(values.values()) / len(values) if values else None


def test_variants_are_compared_over_their_common_videos(comparison: Comparison) -> None:
    metric = comparison.metric("F1")
    assert metric is not None
    cell = metric.cell("better")
    both = sorted(BASE.keys() & BETTER.keys())
    first, second = [BASE[each] for each in both], [BETTER[each] for each in both]
    assert cell.bootstrap == paired_bootstrap(first, second)
    assert cell.wilcoxon == wilcoxon_signed_rank(first, second)
    assert cell.bootstrap is not None
    assert cell.bootstrap.n == 5
    assert (cell.above, cell.below) == (5, 0)
    assert metric.cell("plain").bootstrap is None


def test_a_variant_without_a_value_is_compared_with_nothing(comparison: Comparison) -> None:
    metric = comparison.metric("F1")
    assert metric is not None
    gone = metric.cell("gone")
    assert (gone.value, gone.bootstrap, gone.wilcoxon) == (None, None, None)
    assert comparison.variants[2].failed_videos == 7


def test_an_undefined_metric_stays_undefined(comparison: Comparison) -> None:
    metric = comparison.metric("macro-F1")
    assert metric is not None
    assert not metric.is_known
    assert metric not in comparison.headlines


def test_another_baseline_can_be_chosen(warehouse: Warehouse) -> None:
    turned = read_comparison(warehouse, "e", baseline="better").metric("F1")
    assert turned is not None
    assert (turned.cell("plain").above, turned.cell("plain").below) == (0, 5)
    with pytest.raises(ExperimentError, match=r"has no variant none\. It has plain, better, gone"):
        read_comparison(warehouse, "e", baseline="none")


def test_an_experiment_without_results_names_the_command_to_run_it(warehouse: Warehouse) -> None:
    with pytest.raises(ExperimentError, match="factible experiment run other"):
        read_comparison(warehouse, "other")


def test_shared_and_computed_stages_are_counted(comparison: Comparison) -> None:
    assert [(each.computed, each.shared) for each in comparison.variants] == [
        (1, 0),
        (0, 1),
        (0, 0),
    ]


def test_the_view_shows_the_difference_from_the_baseline(warehouse: Warehouse) -> None:
    (row,) = warehouse.query(
        "SELECT difference, mean_difference, paired_videos, videos_above, videos_below "
        "FROM experiment_comparison "
        "WHERE variant = 'better' AND metric = 'F1' AND averaging = 'macro'"
    ).rows()
    both = BASE.keys() & BETTER.keys()
    assert row[0] == pytest.approx(_mean(BETTER) - _mean(BASE))  # type: ignore[operator]
    assert row[1] == pytest.approx(sum(BETTER[v] - BASE[v] for v in both) / len(both))
    assert row[2:] == (5, 5, 0)


def test_a_new_run_replaces_the_last_one(warehouse: Warehouse) -> None:
    warehouse.write_rows(findings(), replacing=("experiment", "e"))
    assert warehouse.query("SELECT count(*) FROM experiments").item() == 1
    assert warehouse.query("SELECT count(*) FROM experiment_variants").item() == 3


# --- The page -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def html(comparison: Comparison) -> str:
    return render_page(comparison, {"better": two_videos()})


def test_hostile_text_is_escaped(html: str) -> None:
    page = Page(html)
    assert page.all("//script | //iframe | //object | //link") == []
    assert page.all("//@*[starts-with(name(), 'on')]") == []
    assert "<script>alert(1)</script>" in page.text()
    assert "\x07" not in html


def test_the_content_policy_allows_only_the_style_sheet_of_the_page(html: str) -> None:
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', html)
    policy = policy.replace("&#39;", "'")
    (style,) = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules == {
        "default-src": "'none'",
        "script-src": hash_source(""),
        "style-src": hash_source(style),
        "frame-src": "'none'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }
    assert " style=" not in html
    addresses = Page(html).all("//@src | //@href | //@action")
    assert addresses
    assert all(str(each).startswith("data:image/svg+xml;base64,") for each in addresses)


def test_the_page_states_the_basis_of_its_figures(html: str) -> None:
    words = " ".join(" ".join(Page(html).root.itertext()).split())
    assert "3 variants on 7 videos, compared with plain" in words
    assert "7 of 7 videos failed and are in no figure" in words
    assert "comparisons were tested, without correction" in words
    assert "metrics are undefined for every variant macro-F1" in words
    assert "max_claims = 2" in words
    assert "annotated answered supports answered refutes" in words


def test_all_variants_share_one_scale(comparison: Comparison) -> None:
    metric = comparison.metric("F1")
    assert metric is not None
    at = strip_scale(metric)
    assert at(_mean(BASE) or 0.0) < at(_mean(BETTER) or 0.0)
