"""Integrity checks in real runs: recorded per video, and they keep broken rows out."""

from __future__ import annotations

from dataclasses import replace

import dagster as dg
import pytest

from factible_assets.pipeline.assets import claim_checks as module
from factible_assets.records.tables import METHOD, Evidence, Verdict
from factible_assets.stages.flow import FlowResult, check_claims
from factible_assets.stages.integrity import rules_of
from tests.pipeline.assets.conftest import DEMO_VIDEO, Checked


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

    monkeypatch.setattr(module, "check_claims", with_an_invented_quote)
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
