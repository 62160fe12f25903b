from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from factible_assets.exchange.averitec import averitec_of_results, read_averitec
from factible_assets.report.data import ReportData
from tests.exchange.entries import Read
from tests.report import samples


def items(data: ReportData) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(averitec_of_results([data]).text)
    return found


def test_results_read_as_averitec_with_labels_questions_and_sources() -> None:
    text = averitec_of_results([samples.report_data()]).text
    read = Read(read_averitec(text, Path("results.json")))
    assert read.problems == ()
    assert [one.claim.stance for one in read.claims] == ["supports", "refutes", "mixed", "unclear"]
    answers = [
        answer
        for one in read.claims
        for question in one.claim.questions
        for answer in question.answers
    ]
    quoted = [answer for answer in answers if answer.kind == "extractive"]
    assert samples.QUOTE in {answer.text for answer in quoted}
    assert all(answer.source_url for answer in quoted)


def test_a_query_is_a_question_and_without_a_quote_it_is_unanswerable() -> None:
    data = samples.report_data()
    silent = ReportData(
        videos=data.videos, claims=data.claims, queries=data.queries, verdicts=data.verdicts
    )
    asked = {query.text for query in data.queries}
    questions = [question for item in items(silent) for question in item["questions"]]
    assert questions
    assert {question["question"] for question in questions} <= asked
    for question in questions:
        assert [answer["answer_type"] for answer in question["answers"]] == ["Unanswerable"]


def test_quotes_of_queries_that_are_no_more_are_not_lost() -> None:
    data = samples.report_data()
    bare = ReportData(
        videos=data.videos, claims=data.claims, evidence=data.evidence, verdicts=data.verdicts
    )
    first = items(bare)[0]
    assert [question["question"] for question in first["questions"]] == [first["claim"]]
    assert first["questions"][0]["answers"][0]["answer"] == samples.QUOTE


def test_an_answer_leads_to_where_the_page_was_read() -> None:
    data = samples.report_data(
        evidence=(samples.evidence(0, "a.example", page_id="p1"),),
        pages=(samples.page("p1", "https://www.a.example/page?id=1"),),
    )
    answers = [each for item in items(data) for one in item["questions"] for each in one["answers"]]
    assert {each["source_url"] for each in answers} == {None, "https://www.a.example/page?id=1"}


def test_incomplete_verdicts_are_counted_and_left_out_and_the_rest_is_marked() -> None:
    done = averitec_of_results([samples.report_data()])
    assert (done.count, done.incomplete, done.unjudged) == (4, 1, 1)
    for item in json.loads(done.text):
        assert item["made_by"] == "factible-assets 0.1.0"
        assert "without a person's review" in item["disclaimer"]
        assert item["basis"] in {"embedded", "llm"}
        assert item["fact_checking_article"] is None
