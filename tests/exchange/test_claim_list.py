"""A table of claims becomes a corpus of claims; what cannot be used is told with its line."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from factible_assets.corpora.format import CorpusError
from factible_assets.corpora.reading import load_corpus
from factible_assets.exchange.claims import read_claim_list
from factible_assets.exchange.importing import import_corpus
from resources.text_files import PlacedError
from tests.exchange.entries import Read

FILE = Path("list.csv")


def test_columns_stand_in_any_order_and_case_and_others_are_passed_over() -> None:
    text = "Label;CLAIM;date;note\nMostly False;Honey cures a cough.;2020-01-31;mine\n"
    (stated,) = Read(read_claim_list(text, FILE)).claims
    assert (stated.claim.text, stated.claim.said_on) == ("Honey cures a cough.", date(2020, 1, 31))
    assert (stated.claim.label, stated.claim.stance, stated.line) == ("Mostly False", "refutes", 2)


def test_a_label_of_no_known_scale_is_kept_and_has_no_stance() -> None:
    (stated,) = Read(read_claim_list("claim,label\nHoney keeps.,purple\n", FILE)).claims
    assert (stated.claim.label, stated.claim.stance) == ("purple", None)


def test_rows_that_cannot_be_used_are_problems_with_their_line_and_stop_no_other() -> None:
    text = 'claim,date\n,\n"Honey\nkeeps.",yesterday\nTea cools.,\nTea warms.,0\n'
    found = Read(read_claim_list(text, FILE))
    assert [each.claim.text for each in found.claims] == ["Tea cools."]
    assert [(each.line, each.sentence.split(".")[0]) for each in found.problems] == [
        (2, "There is no claim in this row"),
        (4, "The date is 'yesterday'"),
        (6, "The date is '0'"),
    ]


@pytest.mark.parametrize(
    ("rows", "line", "told"),
    [
        ("Honey, if sealed, never spoils.,true\nTea cools.,\n", 2, "more cells than the 2 columns"),
        (
            'Tea cools.,\n"Honey never spoils,true\nThe Moon is cheese.,false\n',
            3,
            "quotation marks",
        ),
        ('"Honey" never spoils,true\nTea cools.,\n', 2, "quotation marks"),
    ],
)
def test_a_row_of_which_commas_or_quotation_marks_make_another_is_told_and_not_guessed(
    rows: str, line: int, told: str
) -> None:
    found = Read(read_claim_list(f"claim,label\n{rows}", FILE))
    assert [each.claim.text for each in found.claims] == ["Tea cools."]
    (problem,) = found.problems
    assert problem.line == line
    assert told in problem.sentence


def test_two_columns_of_one_name_are_refused() -> None:
    with pytest.raises(PlacedError, match="two columns claim"):
        Read(read_claim_list("claim,Claim\nHoney keeps.,Tea cools.\n", FILE))


@pytest.mark.parametrize(("text", "named"), [("", "nothing"), ("text,day\na,b\n", "text, day")])
def test_a_table_without_the_column_says_what_it_has(tmp_path: Path, text: str, named: str) -> None:
    (tmp_path / "list.csv").write_text(text, encoding="utf-8")
    with pytest.raises(CorpusError, match=f"no column claim, but {named}"):
        import_corpus(tmp_path / "list.csv", tmp_path / "corpora")


def test_each_claim_is_an_entry_with_its_own_date_limit(tmp_path: Path) -> None:
    text = "claim,date,label\nHoney keeps.,2020-01-31,True\nHoney keeps.,2021-01-31,\n"
    (tmp_path / "list.csv").write_text(text, encoding="utf-8")
    made = import_corpus(tmp_path / "list.csv", tmp_path / "corpora")
    (corpus,) = load_corpus(made.file).corpora
    limits = [each.entry.published_before for each in corpus.videos]
    assert limits == [date(2020, 1, 31), date(2021, 1, 31)]
    assert all(each.entry.claims_are_given for each in corpus.videos)
