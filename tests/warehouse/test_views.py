"""Queries of analysts on a small warehouse."""

from __future__ import annotations

from datetime import date

import pytest

from factible_assets.wording import OUTCOME_WORDS, moment_url
from tests.warehouse.samples import (
    PAGE,
    QUOTE,
    asset_rows,
    claim,
    evidence,
    fact_check,
    failed_evidence,
    incomplete_verdict,
    llm_call,
    media_finding,
    page,
    page_text,
    prior_fact_check,
    search,
    search_hit,
    stamp,
    verdict,
    video,
    write_asset,
)
from warehouse.sets import AssetRows
from warehouse.store import Warehouse


def test_the_chain_leads_from_claim_to_quote_to_page_to_rating(in_memory: Warehouse) -> None:
    in_memory.write_assets("v", fact_check("v", claims=1), stamp=stamp(1))
    (link,) = in_memory.query(
        "SELECT chain.*, page_texts.text FROM evidence_chain AS chain "
        "JOIN page_texts USING (content_hash)"
    ).iter_rows(named=True)
    assert (link["video_title"], link["claim"], link["query"]) == (
        "Bees",
        "Claim 1",
        "is claim 1 true",
    )
    assert link["text"] == PAGE
    assert PAGE[link["quote_start"] : link["quote_end"]] == link["quote"] == QUOTE
    assert (link["rating"], link["rating_reasons"]) == ("high", ["listed", "a journal"])
    assert (link["verdict"], link["verdict_run_id"]) == ("supported", "run-1")
    assert link["retrieved_at"] is not None


def test_the_chain_has_one_link_per_piece_of_evidence_after_many_checks(
    in_memory: Warehouse,
) -> None:
    for run in range(1, 4):
        in_memory.write_assets("v", fact_check("v", claims=2), stamp=stamp(run))
    assert in_memory.query("SELECT evidence_id FROM evidence_chain").height == 2


def test_a_finding_on_a_picture_is_evidence_of_the_class_image_that_no_verdict_rests_on(
    in_memory: Warehouse,
) -> None:
    in_memory.write_assets("v", fact_check("v", claims=1), stamp=stamp(1))
    about = {"kind": "miscaption", "claim_id": claim("v", 1).claim_id, "match_class": None}
    found = media_finding("v", 1).model_copy(update=about)
    in_memory.write_assets("v", {"media": asset_rows(found)}, stamp=stamp(2))
    (shown,) = in_memory.query(
        "SELECT url, claim, stance, verdict_run_id FROM evidence_chain WHERE source_class = 'image'"
    ).rows()
    assert shown == ("https://pictures.example/bees", "Claim 1", None, None)


def test_the_timeline_is_in_the_order_of_the_video(in_memory: Warehouse) -> None:
    untimed = claim("v", 3).model_copy(update={"start_seconds": None})
    claims = asset_rows(untimed, claim("v", 1), claim("v", 2))
    in_memory.write_assets(
        "v", {"claims": claims, "verdicts": asset_rows(verdict("v", 1))}, stamp=stamp(1)
    )
    timeline = in_memory.query("SELECT claim_rank, start_seconds, verdict FROM verdicts")
    assert timeline.rows() == [
        (2, 98.0, "not judged yet"),
        (1, 99.0, "supported"),
        (3, None, "not judged yet"),
    ]


def test_claims_are_counted_by_attributes_of_their_video(in_memory: Warehouse) -> None:
    about = {"category": "health", "tags": ("misinformation",), "corpus": "talks"}
    listed = video("v").model_copy(update=about)
    sets = {"transcripts": asset_rows(listed), "claims": asset_rows(claim("v"))}
    in_memory.write_assets("v", sets, stamp=stamp(1))
    asked = "SELECT corpus, category, tags, count(*) FROM verdicts GROUP BY ALL"
    assert in_memory.query(asked).rows() == [("talks", "health", ["misinformation"], 1)]


def test_the_scoreboard_counts_agreement_with_the_verdict(in_memory: Warehouse) -> None:
    against = evidence("v", 2).model_copy(update={"stance": "refutes"})
    sets = fact_check("v", claims=3) | {
        "evidence": asset_rows(
            page("v"), page_text(), evidence("v", 1), against, failed_evidence("v", 3)
        )
    }
    in_memory.write_assets("v", sets, stamp=stamp(1))
    (row,) = in_memory.query("SELECT * FROM source_scoreboard").iter_rows(named=True)
    assert (row["domain"], row["videos"], row["claims"], row["sources"]) == (
        "bees.example",
        1,
        3,
        3,
    )
    assert (row["read"], row["supporting"], row["refuting"], row["failed"]) == (2, 1, 1, 1)
    assert (row["agreeing"], row["opposing"]) == (1, 1)


def test_a_source_has_the_best_rating_of_its_pages_in_the_newest_check(
    in_memory: Warehouse,
) -> None:
    overruled = {"rating": "very_low", "rating_score": 0.1, "source_class": "blog"}
    pages = [evidence("v", 1).model_copy(update=overruled), evidence("v", 2)]
    for run, rows in enumerate([pages, pages[::-1]], start=1):
        sets = fact_check("v") | {"evidence": asset_rows(page("v"), page_text(), *rows)}
        in_memory.write_assets("v", sets, stamp=stamp(run))
        scored = in_memory.query("SELECT rating, rating_score, source_class FROM source_scoreboard")
        assert scored.rows() == [("high", 0.85, "unknown")]
        assert in_memory.query("SELECT rating FROM sources_by_month").item() == "high"


def test_failures_are_those_of_the_newest_check(in_memory: Warehouse) -> None:
    down = {"status": "infra_error", "reason": "it is down"}
    lost = dict.fromkeys(["url", "canonical_url", "similarity"])
    broken = {
        "claims": asset_rows(claim("v")),
        "search_hits": asset_rows(prior_fact_check("v").model_copy(update=down | lost)),
        "media": asset_rows(media_finding("v").model_copy(update=down)),
        "evidence": asset_rows(failed_evidence("v")),
        "verdicts": asset_rows(
            incomplete_verdict("v"),
            llm_call("v", "verdicts").model_copy(update={"outcome": "infra_error"}),
        ),
    }
    in_memory.write_assets("v", broken, stamp=stamp(1))
    found = in_memory.query("SELECT asset, outcome FROM failures ORDER BY ALL").rows()
    assert found == [
        ("evidence", "infra_error"),
        ("media", "infra_error"),
        ("search_hits", "infra_error"),
        ("verdicts", "incomplete"),
        ("verdicts", "infra_error"),
    ]
    in_memory.write_assets(
        "v", fact_check("v") | {"media": asset_rows(media_finding("v"))}, stamp=stamp(2)
    )
    assert in_memory.query("SELECT * FROM failures").is_empty()


def test_costs_are_those_of_all_runs(in_memory: Warehouse) -> None:
    for run in (1, 2):
        rows = [llm_call("v", "claims", number, cost=0.25) for number in (1, 2)]
        write_asset(in_memory, "claims", "v", rows, stamp=stamp(run), code_version="1")
    costs = in_memory.query("SELECT run_id, requests, input_tokens, cost_usd FROM costs")
    assert sorted(costs.rows()) == [("run-1", 2, 200, 0.5), ("run-2", 2, 200, 0.5)]


def test_the_costs_of_a_check_that_paid_nothing_sum_to_zero(in_memory: Warehouse) -> None:
    write_asset(in_memory, "claims", "v", [claim("v")], stamp=stamp(1), code_version="1")
    rows = [llm_call("w", "claims", 1, cost=0.25)]
    write_asset(in_memory, "claims", "w", rows, stamp=stamp(2), code_version="1")
    costs = in_memory.query(
        "SELECT video_id, count(*), sum(requests)::INT, sum(cost_usd) FROM costs GROUP BY ALL"
    )
    assert sorted(costs.rows()) == [("v", 1, 0, 0.0), ("w", 1, 1, 0.25)]


def test_a_change_of_stance_is_reported_once(in_memory: Warehouse) -> None:
    write_asset(in_memory, "claims", "v", [claim("v")], stamp=stamp(1), code_version="1")
    refuted = verdict("v").model_copy(update={"stance": "refutes"})
    for run, row in enumerate([verdict("v"), incomplete_verdict("v"), refuted, refuted], start=1):
        write_asset(in_memory, "verdicts", "v", [row], stamp=stamp(run), code_version="1")
    changes = in_memory.query(
        "SELECT claim, previous_stance, stance, previous_run_id, run_id FROM verdict_changes"
    )
    assert changes.rows() == [("Claim 1", "supports", "refutes", "run-1", "run-3")]


def test_stability_compares_sources_with_the_previous_check(in_memory: Warehouse) -> None:
    def hits(*paths: str, status: str = "ok") -> AssetRows:
        return asset_rows(
            search("v").model_copy(update={"status": status}),
            *(
                search_hit("v").model_copy(
                    update={"hit_id": path, "canonical_url": f"https://bees.example/{path}"}
                )
                for path in paths
            ),
        )

    for run, paths in ((1, "abc"), (2, "bcd"), (9, "bcd")):
        in_memory.write_assets(
            "v",
            {"transcripts": asset_rows(video("v")), "search_hits": hits(*paths)},
            stamp=stamp(run),
        )
    for run, status in ((10, "infra_error"), (11, "no_evidence"), (12, "no_evidence")):
        in_memory.write_assets("v", {"search_hits": hits(status=status)}, stamp=stamp(run))
    found = in_memory.query(
        "SELECT run_id, previous_run_id, days_apart, urls, shared_urls, jaccard "
        "FROM retrieval_stability ORDER BY checked_at"
    )
    assert found.rows() == [
        ("run-2", "run-1", 1.0, 3, 2, 0.5),
        ("run-9", "run-2", 7.0, 3, 3, 1.0),
        ("run-11", "run-9", 2.0, 0, 0, 0.0),
        ("run-12", "run-11", 1.0, 0, 0, None),
    ]


def test_claims_are_counted_by_speaker(in_memory: Warehouse) -> None:
    for name, who in (("v", "Ann"), ("w", "Ann"), ("x", None)):
        rows = fact_check(name, claims=2)
        first, second = (rows["claims"].rows[n].model_copy(update={"speaker": who}) for n in (0, 1))
        in_memory.write_assets(
            name, {**rows, "claims": AssetRows([first, second], "1")}, stamp=stamp(1)
        )
    found = in_memory.query(
        "SELECT speaker, claims, videos, supported, open FROM speaker_scoreboard"
    )
    assert found.rows() == [("Ann", 4, 2, 4, 0)]


def test_overviews_count_verdicts_and_sources_by_month_and_channel(in_memory: Warehouse) -> None:
    for name, published_on in (("v", date(2025, 3, 4)), ("w", date(2025, 3, 9)), ("x", None)):
        rows = fact_check(name, claims=2)
        about = video(name).model_copy(update={"channel": "Bee TV", "published_on": published_on})
        rows["transcripts"] = asset_rows(about)
        in_memory.write_assets(name, rows, stamp=stamp(1))
    (channel,) = in_memory.query("FROM channel_scoreboard").rows()
    assert channel == (
        "Bee TV", 3, 6, 6, 0, 0, 0, 0, date(2025, 3, 4), date(2025, 3, 9),
    )  # fmt: skip
    checked_in = stamp(1).checked_at.date().replace(day=1)
    months = in_memory.query("SELECT month, verdict, claims FROM verdicts_by_month").rows()
    assert sorted(months) == sorted(
        [(date(2025, 3, 1), "supported", 4), (checked_in, "supported", 2)]
    )
    sources = in_memory.query(
        "SELECT domain, sum(claims)::INT, sum(agreeing)::INT, sum(opposing)::INT "
        "FROM sources_by_month GROUP BY domain"
    ).rows()
    scored = in_memory.query("SELECT domain, claims, agreeing, opposing FROM source_scoreboard")
    assert sources == scored.rows()


@pytest.mark.parametrize(
    ("video_id", "url", "seconds"),
    [
        ("dQw4w9WgXcQ", None, 99.7),
        ("dQw4w9WgXcQ", "https://youtu.be/dQw4w9WgXcQ", 99.7),
        ("dQw4w9WgXcQ", "https://www.youtube.com/watch?v=dQw4w9WgXcQ", None),
        ("my-talk", "https://talks.example/bees", 99.7),
        ("elevenchars", "https://talks.example/bees", 99.7),
        ("my-talk", None, 99.7),
    ],
)
def test_a_verdict_links_to_the_second_as_pages_do(
    in_memory: Warehouse, video_id: str, url: str | None, seconds: float | None
) -> None:
    about = video(video_id).model_copy(update={"url": url})
    said = claim(video_id).model_copy(update={"start_seconds": seconds})
    sets = {"transcripts": asset_rows(about), "claims": asset_rows(said)}
    in_memory.write_assets(video_id, sets, stamp=stamp(1))
    assert in_memory.query("SELECT link FROM verdicts").item() == moment_url(about, seconds) or url


def test_verdicts_say_the_words_of_pages(in_memory: Warehouse) -> None:
    held = ("supports", "refutes", "mixed", "unclear")
    judged = [
        verdict("v", n).model_copy(update={"stance": each}) for n, each in enumerate(held, start=1)
    ]
    rows = [claim("v", n) for n in range(1, 7)]
    sets = {
        "claims": asset_rows(*rows),
        "verdicts": asset_rows(*judged, incomplete_verdict("v", 5)),
    }
    in_memory.write_assets("v", sets, stamp=stamp(1))
    said = in_memory.query("SELECT verdict FROM verdicts ORDER BY claim_rank")["verdict"].to_list()
    assert said == list(OUTCOME_WORDS.values())
