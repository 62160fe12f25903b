"""Claims that speak of the same are found, and told apart."""

from __future__ import annotations

import pytest

from factible_assets.pipeline.assets.claims import record_said_before
from factible_assets.runs.said_before import said_before
from factible_assets.services.said_before import relation_of, stands_alone
from tests.warehouse.samples import asset_rows, claim, fact_check, stamp, video
from warehouse.store import Warehouse

EVEREST = "Mount Everest is 8,849 metres high."


@pytest.mark.parametrize(
    ("one", "other", "relation"),
    [
        ("People use only ten percent of their brains.", "People use only 10% of brains.", "same"),
        ("Ali defeated Lyle.", "Lyle defeated Ali.", "similar"),
        ("Ali defeated Lyle.", "Ali was defeated by Lyle.", "similar"),
        ("Refugees fled to Syria.", "Refugees fled from Syria.", "similar"),
        ("Sugar makes children ill.", "Sugar does not make children ill.", "contrary"),
        ("Mount Everest is 8,611 metres high.", EVEREST, "other figure"),
        ("Mount Everest is 29,032 feet high.", EVEREST, "same"),
        ("He sold over 5 million records.", "He sold under 5 million records.", "other figure"),
        ("Crime has risen since 2020.", "Crime has fallen since 2020.", "similar"),
        ("The tower is in Paris.", "The tower is in Rome.", None),
    ],
)
def test_claims_are_told_apart_by_names_figures_and_negations(
    one: str, other: str, relation: str | None
) -> None:
    assert relation_of(one, other) == relation_of(other, one) == relation


@pytest.mark.parametrize(
    ("claim", "alone"),
    [
        (EVEREST, True),
        ("Iceland gets its heat from the ground.", True),
        ("Crime rose in 2020.", True),
        ("Crime rose last year.", False),
        ("Last year crime rose.", False),
        ("He was born in 1950.", False),
        ("This vaccine is dangerous.", False),
        ("My father sold five million records.", False),
        ("Эверест высок.", False),
    ],
)
def test_a_claim_that_points_to_its_video_does_not_stand_alone(claim: str, alone: bool) -> None:
    assert stands_alone(claim) is alone


def test_a_claim_in_other_words_is_found_with_its_verdict(in_memory: Warehouse) -> None:
    for name, text in (("v", EVEREST), ("w", "Goldfish remember for months.")):
        sets = fact_check(name, claims=1)
        about = video(name).model_copy(update={"channel": "Peaks"})
        said = claim(name, 1).model_copy(update={"text": text})
        sets |= {"claims": asset_rows(said), "transcripts": asset_rows(about)}
        in_memory.write_assets(name, sets, stamp=stamp(1))
    asked = "You should know that Mount Everest is 8,849 metres tall."
    (found,) = said_before(in_memory, asked)
    assert (found["claim"], found["verdict"], found["channel"]) == (EVEREST, "supported", "Peaks")
    assert (found["relation"], found["outcome"]) == ("similar", "supports")
    assert said_before(in_memory, asked, without="v") == []
    assert said_before(in_memory, "Nobody speaks of that") == []


def test_pairs_stand_in_sql_both_ways(in_memory: Warehouse) -> None:
    texts = {"v": EVEREST, "w": "Mount Everest is 8,611 metres high."}
    said = {name: claim(name).model_copy(update={"text": text}) for name, text in texts.items()}
    for name, each in said.items():
        in_memory.write_assets(name, {"claims": asset_rows(each)}, stamp=stamp(1))
    for name, each in said.items():
        assert record_said_before(in_memory, name, [each]) == 1
    found = in_memory.query("SELECT video_id, other_video_id, relation FROM said_before").rows()
    assert sorted(found) == [("v", "w", "other figure"), ("w", "v", "other figure")]


def test_a_claim_of_two_other_videos_counts_once(in_memory: Warehouse) -> None:
    same = {name: claim(name).model_copy(update={"text": EVEREST}) for name in ("u", "v", "w")}
    for name, each in same.items():
        in_memory.write_assets(name, {"claims": asset_rows(each)}, stamp=stamp(1))
    assert record_said_before(in_memory, "u", [same["u"]]) == 1
    pairs = in_memory.query("SELECT other_video_id FROM said_before WHERE video_id = 'u'").rows()
    assert sorted(pairs) == [("v",), ("w",)]
