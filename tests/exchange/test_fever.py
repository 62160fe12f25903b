from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factible_assets.corpora.format import ClaimEntry, PassageEntry
from factible_assets.exchange.fever import read_fever, write_fever
from tests.exchange.entries import STANCES, WORDS, Read, claims_of, passages, stored
from tests.shared_data import shared_data

FILE = Path("given.jsonl")


def lines(*items: dict[str, Any]) -> list[bytes]:
    return [json.dumps(item).encode() + b"\n" for item in items]


def test_fevers_form_is_read_with_the_sentences_that_decide() -> None:
    read = Read(
        read_fever(
            lines(
                {
                    "id": 75397,
                    "verifiable": "VERIFIABLE",
                    "label": "SUPPORTS",
                    "claim": "Honey keeps.",
                    "evidence": [[[1, 2, "Honey", 7], [1, 3, "Jar", 0]], [[4, 5, "Honey", 7]]],
                },
                {
                    "id": 2,
                    "label": "NOT ENOUGH INFO",
                    "claim": "Tea cures.",
                    "evidence": [[[9, None, None, None]]],
                },
                {"id": 3, "claim": "Unlabelled."},
            ),
            FILE,
        )
    )
    assert read.problems == ()
    first, second, third = read.claims
    assert (first.key, first.claim.stance) == ("75397", "supports")
    assert first.claim.passages == (
        PassageEntry(source="Honey", place="7", stance="supports"),
        PassageEntry(source="Jar", place="0", stance="supports"),
    )
    assert (second.claim.stance, second.claim.passages) == ("unclear", ())
    assert (third.claim.stance, third.claim.label) == (None, None)


def test_climate_fevers_form_is_read_with_its_fourth_label() -> None:
    passage = {
        "article": "Honey",
        "evidence": "It keeps.",
        "evidence_id": "Honey:7",
        "evidence_label": "NOT_ENOUGH_INFO",
        "votes": ["SUPPORTS", None],
    }
    item = {"claim_id": "0", "claim": "C", "claim_label": "DISPUTED", "evidences": [passage]}
    (one,) = Read(read_fever(lines(item), FILE)).claims
    assert one.claim.stance == "mixed"
    assert one.claim.passages == (
        PassageEntry(source="Honey", text="It keeps.", place="Honey:7", stance="unclear"),
    )


@pytest.mark.parametrize(
    ("item", "sentence"),
    [
        ({"id": 1, "claim": "a", "label": "MAYBE"}, "label is 'MAYBE': it is none of SUPPORTS"),
        ({"id": 1, "label": "SUPPORTS"}, "claim is missing"),
        ({"id": [], "claim": "a"}, "id"),
        ({"id": 1, "claim": "a", "evidence": "x"}, "evidence is 'x'"),
        ({"claim_label": "SUPPORTS", "claim": "a", "evidences": [{}]}, "evidences.0.article"),
    ],
)
def test_a_mistake_is_told_with_its_line_and_the_rest_is_read(
    item: dict[str, Any], sentence: str
) -> None:
    read = Read(
        read_fever(lines({"id": 5, "claim": "Good."}, item, {"id": 6, "claim": "Too."}), FILE)
    )
    assert [one.key for one in read.claims] == ["5", "6"]
    assert {problem.line for problem in read.problems} == {2}
    assert sentence in read.problems[0].sentence


def test_values_that_are_no_objects_are_told() -> None:
    read = Read(read_fever([b"[1]\n", b"null\n", b'"x"\n'], FILE))
    assert read.claims == ()
    assert [problem.line for problem in read.problems] == [1, 2, 3]


@pytest.mark.parametrize("with_text", [True, False])
@given(data=st.data())
def test_what_the_form_carries_survives_the_way_there_and_back(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, with_text: bool
) -> None:
    stance = data.draw(st.none() | STANCES)
    found = data.draw(
        st.lists(
            passages(with_text=with_text),
            max_size=3,
            unique_by=lambda each: (each.source, each.place),
        )
    )
    claim = ClaimEntry(text=data.draw(WORDS), stance=stance, passages=tuple(found))
    listed = stored(tmp_path_factory.mktemp("there"), claim)
    written = [line.encode() for line in write_fever(claims_of(listed))]
    read = Read(read_fever(written, FILE))
    assert read.problems == ()
    (one,) = read.claims
    assert one.key == "k0"
    assert (one.claim.text, one.claim.stance) == (claim.text, claim.stance)
    again = [(each.source, each.place, each.text) for each in one.claim.passages]
    assert again == [(each.source, each.place, each.text) for each in found]
    if with_text:
        assert [each.stance for each in one.claim.passages] == [each.stance for each in found]


def test_real_climate_fever_is_read_whole_and_written_again_with_the_same_labels(
    tmp_path: Path,
) -> None:
    file = shared_data("climate_fever", "dev.jsonl")
    raw = [json.loads(line) for line in file.read_bytes().splitlines()]
    read = Read(read_fever(file.read_bytes().splitlines(keepends=True), file))
    assert (len(read.claims), read.problems) == (769, ())
    labels = Counter(one.claim.stance for one in read.claims)
    assert labels == {"supports": 333, "unclear": 234, "refutes": 136, "mixed": 66}
    listed = stored(tmp_path, *(one.claim for one in read.claims[:40]))
    for line, item in zip(write_fever(claims_of(listed)), raw, strict=False):
        written = json.loads(line)
        assert (written["claim"], written["claim_label"]) == (item["claim"], item["claim_label"])
        kept = "evidence_id", "evidence_label", "article", "evidence"
        assert written["evidences"] == [{k: e[k] for k in kept} for e in item["evidences"]]
