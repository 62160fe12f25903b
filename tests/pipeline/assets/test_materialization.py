"""Materializing all or some assets, again, with bad input, with broken rows and with an outage."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from factible_assets.pipeline.assets import claim_checks
from factible_assets.pipeline.resources import FactCheckServices
from factible_assets.pipeline.sensors import publish_sensor
from factible_assets.records.tables import METHOD, Claim, Evidence, Verdict
from factible_assets.stages.flow import FlowResult, check_claims
from factible_assets.stages.integrity import rules_of
from factible_assets.stages.ports import Services
from resources.search.base import SearchAnswer, SearchRequest
from tests.evaluation.test_charts import INLINE_CHARACTERS
from tests.pipeline.assets.conftest import DEMO_VIDEO, FEW_CLAIMS, Checked, Pipeline


def failure_sentence(result: dg.ExecuteInProcessResult) -> str:
    (failed,) = [event for event in result.all_events if event.is_step_failure]
    data = failed.step_failure_data
    assert data.user_failure_data is not None, data.error
    return str(data.user_failure_data.description)


def metadata_of(result: dg.ExecuteInProcessResult, asset: str) -> dict[str, Any]:
    for event in result.get_asset_materialization_events():
        if event.asset_key == dg.AssetKey(asset):
            return {key: value.value for key, value in event.materialization.metadata.items()}
    raise AssertionError(f"{asset} was not materialized")


@dataclass
class DeadSearch:
    """A search provider whose service is down."""

    asked: list[str] = field(default_factory=list)

    async def search(self, request: SearchRequest) -> tuple[SearchAnswer, ...]:
        self.asked.append(request.query)
        return (SearchAnswer("testsearch", "outage", reason="testsearch: HTTP status 503"),)


class ServicesWithoutSearch(FactCheckServices):
    """The standard services, behind a search provider that is down."""

    @asynccontextmanager
    async def open(self, **wishes: Any) -> AsyncIterator[Services]:
        async with super().open(**wishes) as opened:
            yield replace(opened, searcher=DeadSearch())


def test_all_seven_assets_of_a_video_fill_the_warehouse(checked: Checked) -> None:
    claims = checked.store.read_current(Claim, DEMO_VIDEO)
    verdicts = checked.store.read_current(Verdict, DEMO_VIDEO)
    assert len(claims) == FEW_CLAIMS.claims.max_claims
    assert {verdict.claim_id for verdict in verdicts} == {claim.claim_id for claim in claims}
    assert {verdict.basis for verdict in verdicts} == {"embedded"}
    for asset in METHOD:
        current = checked.store.current_sets(DEMO_VIDEO).get(asset)
        assert current is not None
        assert current.run_id == checked.first.run_id


def test_a_run_is_found_by_its_video_its_corpus_and_its_launcher(checked: Checked) -> None:
    result = checked.first
    wanted = {"video": DEMO_VIDEO, "corpus": "everyday-beliefs", "launched_by": "dagster"}
    wanted |= {"title": "What everybody knows: a talk on everyday beliefs"}
    own = {key: value for key, value in checked.tags.items() if not key.startswith("dagster/")}
    assert own == wanted

    shown = dict(result.asset_materializations_for_node("claim_checks")[-1].metadata)
    report, index, first, second, *_ = shown
    assert (report, index) == ("report", "index of reports"), "the links come first"
    assert first.startswith("1. ")
    assert "leaning" in str(shown[first].value)
    assert len(str(shown[second].value)) < INLINE_CHARACTERS
    for chart in ("outcomes", "seconds by stage"):
        assert len(str(shown[chart].value)) < INLINE_CHARACTERS
    assert "https://" in str(shown["verdicts"].value), "sources are linked beside the verdict"
    claims = result.asset_materializations_for_node("claim_checks")[0].metadata
    assert not {"tokens in", "thesis", "rows/claims"} & {*claims}, "nothing is told of nothing"


def test_the_materialization_shows_a_person_the_outcome(checked: Checked) -> None:
    result = checked.first
    claims = metadata_of(result, "claims")
    assert claims["count"] == FEW_CLAIMS.claims.max_claims
    assert str(claims["claims"]).startswith("| # | at | claim |")
    verdicts = metadata_of(result, "verdicts")
    assert "leaning" in str(verdicts["verdicts"])
    assert verdicts["dagster/row_count"] == FEW_CLAIMS.claims.max_claims
    assert metadata_of(result, "evidence")["pages read"] > 0


def data_versions(result: dg.ExecuteInProcessResult) -> dict[dg.AssetKey, str]:
    return {
        event.asset_key: event.materialization.tags["dagster/data_version"]  # type: ignore[index,misc]
        for event in result.get_asset_materialization_events()
        if event.asset_key != dg.AssetKey("report")
    }


def test_the_report_is_an_asset_of_the_checked_video(checked: Checked) -> None:
    (event,) = (
        each.materialization
        for each in checked.first.get_asset_materialization_events()
        if each.asset_key == dg.AssetKey("report")
    )
    assert event.partition == DEMO_VIDEO
    assert "index of reports" in event.metadata


def test_the_published_copy_is_an_asset(checked: Checked) -> None:
    run = checked.first.dagster_run
    ended = [each for each in checked.first.all_events if each.is_job_event][-1]
    context = dg.build_run_status_sensor_context("publish_sensor", ended, checked.instance, run)
    publish_sensor(context, services=FactCheckServices(home=str(checked.settings.home)))
    event = checked.instance.get_latest_materialization_event(dg.AssetKey("published_copy"))
    assert event is not None
    assert checked.settings.published.exists()


def test_any_one_asset_alone_reads_its_inputs_and_makes_the_same_rows(checked: Checked) -> None:
    whole = checked.store.read_video(DEMO_VIDEO, METHOD)
    versions = data_versions(checked.first)
    for asset in METHOD:
        key, result = dg.AssetKey(asset), checked.materialize(assets=[asset])
        assert result.success, asset
        assert data_versions(result) == {key: versions[key]}
    again = checked.store.read_video(DEMO_VIDEO, METHOD)
    for asset in METHOD:
        before, after = (
            [row.model_dump(exclude=set(row.volatile)) for row in rows.of_asset(asset)]
            for rows in (whole, again)
        )
        assert after == before != []


def test_an_asset_without_its_input_says_what_to_materialize_first(pipeline: Pipeline) -> None:
    result = pipeline.materialize(assets=["claims"])
    assert not result.success
    assert "transcripts" in failure_sentence(result)
    assert DEMO_VIDEO in failure_sentence(result)


def test_a_dead_search_service_gives_incomplete_verdicts_and_no_stance(pipeline: Pipeline) -> None:
    dead = ServicesWithoutSearch(home=str(pipeline.settings.home))
    result = pipeline.materialize(overrides={"services": dead})
    assert result.success
    verdicts = pipeline.store.read_current(Verdict, DEMO_VIDEO)
    assert {verdict.status for verdict in verdicts} == {"incomplete"}
    assert {verdict.stance for verdict in verdicts} == {None}
    assert all("503" in str(verdict.reason) for verdict in verdicts)
    assert "503" in str(metadata_of(result, "search_hits")["failures"])


def corpus_with_transcript(folder: Path, name: str, words: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.txt").write_text(words, encoding="utf-8")
    (folder / f"{name}.yaml").write_text(
        f"corpus: {name}\nvideos:\n  - id: {name}\n    title: {name}\n    web: archive\n"
        f"    transcript: {name}.txt\n",
        encoding="utf-8",
    )


def test_an_empty_transcript_is_a_sentence_that_names_it(pipeline: Pipeline) -> None:
    corpus_with_transcript(pipeline.settings.home_corpora, "silence", "\n\n")
    result = pipeline.materialize("silence", assets=["transcripts"])
    assert "silence" in failure_sentence(result)


# --- Integrity ------------------------------------------------------------------------------------


def evaluations(
    result: dg.ExecuteInProcessResult,
) -> dict[tuple[str, str], dg.AssetCheckEvaluation]:
    return {
        (each.asset_key.to_user_string(), each.check_name): each
        for each in result.get_asset_check_evaluations()
        if each.check_name
        not in {"verdict_flips", "readings_rest_on_quotes", "corpora_are_readable"}
    }


def test_a_run_records_every_check_for_its_video(checked: Checked) -> None:
    result = checked.first
    found = evaluations(result)
    assert set(found) == {(asset, "integrity") for asset in METHOD}
    for rule in (rule for asset in METHOD for rule in rules_of(asset)):
        told = found[rule.asset, "integrity"].metadata[rule.name].value
        assert told == f"holds: {rule.description}"
    assert all(each.passed for each in found.values())
    assert {each.partition for each in found.values()} == {DEMO_VIDEO}
    assert all(each.blocking for each in found.values())
    (flips,) = [
        each for each in result.get_asset_check_evaluations() if each.check_name == "verdict_flips"
    ]
    assert (flips.passed, flips.partition) == (True, DEMO_VIDEO)


def test_rows_that_break_a_rule_are_listed_and_the_last_good_rows_stay(
    checked: Checked, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = checked.first
    verdicts = checked.store.read_current(Verdict, DEMO_VIDEO)

    async def with_an_invented_quote(*args: object, **wishes: object) -> FlowResult:
        result = await check_claims(*args, **wishes)  # type: ignore[arg-type]
        place = next(place for place, row in enumerate(result.evidence) if row.quote)
        invented = result.evidence[place].model_copy(update={"quote": "Nobody ever said this."})
        rows = (*result.evidence[:place], invented, *result.evidence[place + 1 :])
        return replace(result, evidence=rows)

    monkeypatch.setattr(claim_checks, "check_claims", with_an_invented_quote)
    bad = checked.materialize()
    assert not bad.success
    found = evaluations(bad)
    (told,) = [each for each in found.values() if not each.passed]
    assert told.asset_key == dg.AssetKey("evidence")
    assert str(told.description).startswith("quotes_stand_in_their_pages: ")
    assert told.blocking
    assert told.partition == DEMO_VIDEO
    assert told.metadata["violations"].value == 1
    assert "its quote does not stand at" in str(told.metadata["rows"].value)
    (failure,) = [event for event in bad.all_events if event.is_step_failure]
    said = failure.step_failure_data.user_failure_data
    assert said is not None
    assert "nothing was written and the last good rows stay" in str(said.description)
    assert checked.store.read_current(Verdict, DEMO_VIDEO) == verdicts
    for asset in METHOD:
        if asset not in {"transcripts", "claims"}:
            current = checked.store.current_sets(DEMO_VIDEO).get(asset)
            assert current is not None
            assert current.run_id == good.run_id
    assert all(
        "Nobody" not in (row.quote or "")
        for row in checked.store.read_current(Evidence, DEMO_VIDEO)
    )
