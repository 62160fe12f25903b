"""`factible review` on a checked video."""

from __future__ import annotations

import builtins
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from factible_assets.cli import review as module
from factible_assets.cli.progress import watching
from factible_assets.errors import FactibleError
from factible_assets.records.tables import ReviewKind, Verdict
from factible_assets.runs.changes import Change, actions_of, source_subject
from factible_assets.runs.claims import ClaimFile, open_claim
from factible_assets.runs.review import carry_out, choose_claims, record
from factible_assets.settings import Settings
from factible_assets.stages.ids import claim_id, query_id
from tests.cli.conftest import Run
from tests.cli.stored import VIDEO_ID, store_sample
from tests.report import samples
from warehouse.bookkeeping import read_actions
from warehouse.store import Warehouse

HOSTILE = "<script>alert(1)</script>\x1b[31m\u202eevil\x07"


@pytest.fixture
def store(home: Path, monkeypatch: pytest.MonkeyPatch) -> Warehouse:
    monkeypatch.setenv("FACTIBLE_REVIEWER", "health desk")
    monkeypatch.setenv("COLUMNS", "200")
    return store_sample(home)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> ClaimFile:
    """The sample's first claim, for tests that write nothing."""
    home = tmp_path_factory.mktemp("opened")
    store_sample(home)
    return open_claim(VIDEO_ID, number(0), Settings(home=home))


def number(place: int) -> str:
    """Return the number of a claim of the sample in the list, by rank."""
    ranks = sorted(samples.claim(each).rank for each in range(5))
    return str(ranks.index(samples.claim(place).rank) + 1)


def test_claims_are_listed_with_their_numbers_and_verdicts(factible: Run, store: Warehouse) -> None:
    result = factible("review", VIDEO_ID)
    assert result.exit_code == 0
    assert samples.SENTENCES[0] in result.stdout
    assert "leaning supported" in result.stdout
    listed = json.loads(factible("review", VIDEO_ID, "--json").stdout)
    assert [row["number"] for row in listed] == [1, 2, 3, 4, 5]


def test_a_claim_shows_its_queries_and_sources_by_number_or_by_id(
    factible: Run, store: Warehouse
) -> None:
    by_number = factible("review", VIDEO_ID, number(0))
    by_id = factible("review", VIDEO_ID, samples.claim(0).claim_id[:8])
    assert by_number.stdout == by_id.stdout
    assert "1. question 0  [direct]" in by_number.stdout
    assert samples.QUOTE in by_number.stdout
    document = json.loads(factible("review", VIDEO_ID, number(0), "--json").stdout)
    assert document["claim"] == samples.SENTENCES[0]
    assert document["queries"][0]["text"] == "question 0"
    assert document["sources"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nobody"], "Nothing is stored about a video nobody"),
        ([VIDEO_ID, "77"], "has no claim '77'"),
        ([VIDEO_ID, "c"], "Several claims begin with 'c'"),
        ([VIDEO_ID, "1", "--add-source", "http://127.0.0.1/"], "is not a public address"),
        ([VIDEO_ID, "1", "--note", "x", "--reviewer", ""], "The name of a reviewer is empty"),
    ],
)
def test_a_refused_review_records_nothing(
    factible: Run, store: Warehouse, arguments: list[str], words: str
) -> None:
    result = factible("review", *arguments)
    assert result.exit_code == 4
    assert words in result.stderr
    assert result.stdout == ""
    assert read_actions(store, VIDEO_ID) == []


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        ("note", " \x00\ud800 ", "A note is empty"),
        ("add_query", "", "A query is empty"),
        ("add_query", "x" * 401, "has 401 characters, and may have 400"),
        ("add_query", "Question  0.", "has the query 'Question 0.' already"),
        ("edit_query", "Question 0", "has the query 'Question 0' already"),
        ("remove_query", None, "would have no query left"),
        ("assess", "perhaps", "'perhaps' is no assessment"),
        ("add_source", "ftp://a.example/x", "is no web address"),
        ("add_source", "a.example/x", "is no web address"),
        ("add_source", "http://[::1]/", "is not a public address"),
        ("add_source", "http://169.254.169.254/latest", "is not a public address"),
        ("add_source", "http://router.local/", "name of private networks"),
        ("add_source", "https://a.example:22/", "port 22"),
        ("add_source", "https://me:pw@a.example/", "user name or password"),
        ("add_source", f"https://youtu.be/{VIDEO_ID}", "is the video itself"),
        ("block_source", "https://nowhere.example/x", "is no source of the claim"),
        ("block_source", "co.uk", "is no domain of one publisher"),
        ("block_source", "a b", "is no web address"),
        ("unblock_source", "a.example", "No reviewer blocked or added"),
    ],
)
def test_an_invalid_change_says_why(
    opened: ClaimFile, kind: ReviewKind, text: str | None, words: str
) -> None:
    number = 1 if kind in {"edit_query", "remove_query"} else None
    with pytest.raises(FactibleError) as refusal:
        actions_of(opened, [Change(kind, text, number=number)], "desk", None)
    assert words in str(refusal.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (Change("drop_claim"), "A dropped claim needs a reason"),
        (Change("sign", "supported"), "A ruling needs a text"),
        (Change("sign", "perhaps", reason="x"), "'perhaps' is no ruling on the scale factible"),
        (Change("split_claim", "One part\none part."), "into two parts or more"),
        (Change("split_claim", ""), "into two parts or more"),
        (Change("reword_claim", " "), "A claim is empty"),
        (Change("reword_claim", samples.SENTENCES[1]), "makes that claim already"),
        (Change("reword_claim", samples.SENTENCES[0]), "makes that claim already"),
        (Change("restore_claim"), "neither dropped nor split"),
        (Change("add_claim", "New.", said="nobody said it"), "contains 'nobody said it' 0 times"),
        (Change("overrule_source", "https://no.example/", value="low"), "was read for the claim"),
        (Change("assign", ""), "The name of a person is empty"),
        (Change("assign", "none"), "is assigned to nobody"),
        (Change("assess", "None"), "has no assessment"),
        (Change("sign", "none"), "has no ruling"),
    ],
)
def test_impossible_changes_of_a_claim_are_refused(
    opened: ClaimFile, change: Change, words: str
) -> None:
    with pytest.raises(FactibleError) as refusal:
        actions_of(opened, [change], "desk", None)
    assert words in str(refusal.value)


def test_a_source_is_overruled_with_a_stance_or_a_rating_and_a_reason(opened: ClaimFile) -> None:
    source = next(row.canonical_url for row in opened.sources if row.status == "ok")
    (act,) = actions_of(
        opened, [Change("overrule_source", source, value="Very low")], "desk", "a content farm"
    )
    assert (act.target, act.value, act.reason) == (source, "very_low", "a content farm")
    for value, reason, words in (("low", None, "needs a reason"), ("bad", "x", "'bad' is neither")):
        with pytest.raises(FactibleError, match=words):
            actions_of(opened, [Change("overrule_source", source, value=value)], "desk", reason)


def test_parts_and_passages_are_found_whatever_the_space_around_them(opened: ClaimFile) -> None:
    (split,) = actions_of(opened, [Change("split_claim", "One.\n \nTwo.\n")], "desk", None)
    assert split.value == "One.\nTwo."
    said = samples.SENTENCES[3].upper().replace(" ", "\n ")
    (added,) = actions_of(opened, [Change("add_claim", "Tea is old.", said=said)], "desk", None)
    assert added.target == samples.SENTENCES[3]


def test_a_split_claim_leads_to_its_parts_in_their_present_words(
    home: Path, store: Warehouse
) -> None:
    settings = Settings(home=home)
    whole, part = samples.claim(0).claim_id, claim_id(VIDEO_ID, "One.")
    for name, change in (
        (whole, Change("split_claim", "One.\nTwo.")),
        (part, Change("reword_claim", "First.")),
    ):
        seen = open_claim(VIDEO_ID, name, settings).version
        record(VIDEO_ID, name, [change], "desk", settings, seen=seen)
    file = open_claim(VIDEO_ID, whole, settings)
    done = carry_out(file, [], "desk", rerun=False, watch=watching, say=print)
    assert set(done.claims) == {claim_id(VIDEO_ID, each) for each in ("First.", "Two.")}


def test_only_an_overruling_can_be_withdrawn(opened: ClaimFile) -> None:
    source = next(row.canonical_url for row in opened.sources if row.status == "ok")
    made, undone = (Change("overrule_source", source, value=each) for each in ("refutes", "none"))
    for changes in ([undone], [made, undone, undone]):
        with pytest.raises(FactibleError, match="No reviewer overruled"):
            actions_of(opened, changes, "desk", "a reason")
    assert len(actions_of(opened, [made, undone], "desk", "a reason")) == 2


def test_a_claim_is_not_changed_and_judged_at_once(opened: ClaimFile) -> None:
    changes = [Change("reword_claim", "Other words."), Change("assess", "refutes")]
    for order in (changes, changes[::-1]):
        with pytest.raises(FactibleError, match="change and judge a claim at once"):
            actions_of(opened, order, "desk", None)


def test_changes_are_validated_after_those_before_them(opened: ClaimFile) -> None:
    swapped = [Change("edit_query", "new words", number=1), Change("add_query", "question 0")]
    assert [act.value for act in actions_of(opened, swapped, "desk", None)] == [
        "new words",
        "question 0",
    ]
    with pytest.raises(FactibleError, match="is changed twice"):
        actions_of(opened, [swapped[0], Change("remove_query", number=1)], "desk", None)
    with pytest.raises(FactibleError, match="has no query 9; it has 1"):
        actions_of(opened, [Change("edit_query", "x", number=9)], "desk", None)
    blocked = Change("block_source", "a.example")
    with pytest.raises(FactibleError, match="is blocked already, by desk"):
        actions_of(opened, [blocked, blocked], "desk", None)
    assert len(
        actions_of(opened, [blocked, Change("unblock_source", "a.example"), blocked], "B", None)
    )


def test_a_change_on_outdated_state_is_not_recorded(store: Warehouse, home: Path) -> None:
    settings = Settings(home=home)
    first, second = (open_claim(VIDEO_ID, number(0), settings) for _ in range(2))

    def record(file: ClaimFile, name: str, change: Change) -> None:
        carry_out(file, [change], name, rerun=False, watch=watching, say=print)

    record(first, "Ann", Change("block_source", "a.example"))
    with pytest.raises(FactibleError, match="Somebody else has changed this claim"):
        record(second, "Bob", Change("block_source", "a.example"))
    record(second, "Bob", Change("note", "An opinion stands beside those of others."))
    assert [each.reviewer for each in read_actions(store, VIDEO_ID)] == ["Ann", "Bob"]


def test_options_without_a_claim_or_beside_the_history_are_wrong_usage(
    factible: Run, store: Warehouse
) -> None:
    assert factible("review", VIDEO_ID, "--note", "x").exit_code == 2
    assert factible("review", VIDEO_ID, "1", "--history", "--note", "x").exit_code == 2


@pytest.mark.parametrize(
    ("option", "partner"),
    [
        (["--ruling", "It boils."], "--sign"),
        (["--said", "it boils"], "--add-claim"),
        (["--type", "context"], "--add-query"),
        (["--opposite"], "--add-query"),
        (["--reason", "it boils"], "a change"),
    ],
)
def test_an_option_without_its_partner_is_wrong_usage(
    factible: Run, store: Warehouse, option: list[str], partner: str
) -> None:
    result = factible("review", VIDEO_ID, "1", *option)
    assert result.exit_code == 2
    assert f"{option[0]} goes with {partner}." in result.stderr


def test_opinions_and_corrections_are_recorded_and_reported_without_a_run(
    factible: Run, store: Warehouse, home: Path
) -> None:
    claim = samples.claim(0)
    done = factible(
        "review", VIDEO_ID, number(0), "--no-rerun", "--edit-query", "1", "a better question",
        "--add-query", "the contrary", "--opposite", "--type", "context",
        "--block", "www.never.example", "--assess", "REFUTES", "--note", "Ask a beekeeper.",
        "--reason", "jars leak",
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    assert "Recorded. The next check of the claim applies it." in done.stderr
    assert "The claim has no source from never.example so far" in done.stderr
    acts = read_actions(store, VIDEO_ID)
    assert [each.action for each in acts] == [
        "add_query", "edit_query", "block_source", "assess", "note",
    ]  # fmt: skip
    assert {(each.reviewer, each.claim_id, each.reason) for each in acts} == {
        ("health desk", claim.claim_id, "jars leak")
    }
    assert acts[0].query_id == query_id(claim.claim_id, "the contrary")
    assert (acts[0].query_type, acts[0].seeks_opposite) == ("context", True)
    shown = factible("review", VIDEO_ID, number(0)).stdout
    assert "1. a better question  [direct, worded by a reviewer]" in shown
    assert "2. the contrary  [context, seeks the contrary, worded by a reviewer]" in shown
    assert "health desk assessed the claim as refuted (jars leak)" in shown
    history = json.loads(factible("review", VIDEO_ID, "--history", "--json").stdout)
    assert [row["target_words"] for row in history][1] == "question 0"
    assert {row["run_id"] for row in history} == {None}
    report = next((home / "reports").glob(f"{VIDEO_ID}.html")).read_text(encoding="utf-8")
    assert "in place of “question 0”" in report
    assert "in the assessment of" in report
    published = Warehouse(home / "published.duckdb")
    assert published.query("SELECT count(*) FROM review_history").item() == 5
    again = factible("review", VIDEO_ID, number(0), "--no-rerun", "--block", "never.example")
    assert "is blocked already, by health desk" in again.stderr
    verdicts = {row.claim_id: row for row in store.read_current(Verdict, VIDEO_ID)}
    assert verdicts[claim.claim_id].stance == "supports"


def test_reviewers_text_is_escaped(factible: Run, store: Warehouse, home: Path) -> None:
    done = factible(
        "review", VIDEO_ID, number(0), "--no-rerun", "--note", HOSTILE, "--add-query", HOSTILE,
        "--reason", HOSTILE, "--reviewer", HOSTILE,
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    shown = [done, factible("review", VIDEO_ID), factible("review", VIDEO_ID, number(0))]
    shown.append(factible("review", VIDEO_ID, "--history"))
    for result in shown:
        assert not {"\x1b", "\x07", "\u202e"} & set(result.stdout + result.stderr)
    report = next((home / "reports").glob(f"{VIDEO_ID}.html")).read_text(encoding="utf-8")
    assert "&lt;script&gt;alert(1)" in report
    assert "<script>alert(1)" not in report


def test_a_source_is_named_by_its_address_or_its_domain() -> None:
    assert source_subject("HTTP://www.a.example/x/?utm_source=y#z") == "https://a.example/x"
    assert source_subject("a.example/x/") == "https://a.example/x"
    assert source_subject("WWW.Blog.A.example.") == "blog.a.example"


def answers(monkeypatch: pytest.MonkeyPatch, *given: str | type[BaseException]) -> None:
    left: Iterator[str | type[BaseException]] = iter(given)

    def answer(prompt: str = "") -> str:
        print(prompt)
        said = next(left)
        if isinstance(said, str):
            return said
        raise said

    monkeypatch.setattr(builtins, "input", answer)


def test_the_menu_collects_possible_changes_and_explains_the_others(
    opened: ClaimFile, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers(
        monkeypatch, "99", "2", "9", "words", "", "2", "1", "better words", "clearer",
        "4", "never.example", "", "0",
    )  # fmt: skip
    changes = module._menu(opened)  # the prompt needs a terminal, the menu does not
    assert [change.kind for change in changes] == ["edit_query", "block_source"]
    said = capsys.readouterr().out
    assert "Give a number from 0 to 15." in said
    assert "The claim has no query 9" in said
    acts = actions_of(opened, changes, "desk", "in general")
    assert [act.reason for act in acts] == ["clearer", "in general"]


@pytest.mark.parametrize("way_out", [EOFError, KeyboardInterrupt])
def test_leaving_the_menu_by_a_key_changes_nothing(
    opened: ClaimFile, monkeypatch: pytest.MonkeyPatch, way_out: type[BaseException]
) -> None:
    answers(monkeypatch, "8", "a note", "4", way_out)
    assert module._menu(opened) == []


def test_no_text_of_a_choice_of_claims_is_lost(store: Warehouse, home: Path) -> None:
    settings = Settings(home=home)

    def choose(texts: list[str], rewords: dict[str, str]) -> list[tuple[str, str | None]]:
        before = len(read_actions(store, VIDEO_ID))
        choose_claims(VIDEO_ID, texts, "ann", settings, rewords)
        made = read_actions(store, VIDEO_ID)[before:]
        return sorted((each.action, each.value) for each in made if each.value)

    first, second = (samples.claim(place) for place in range(2))
    # The original stays too.
    texts = [first.text, second.text, "Bees dance."]
    assert choose(texts, {"Bees dance.": first.claim_id}) == [("add_claim", "Bees dance.")]
    # Only the punctuation changes.
    loud = f"{first.text.rstrip('.')}!"
    texts = [loud, "Bees dance."]
    assert choose(texts, {loud: first.claim_id}) == [("reword_claim", loud)]
    # The original is gone.
    texts = [loud, "Bees dance.", "Bees sing."]
    assert choose(texts, {"Bees sing.": second.claim_id}) == [("add_claim", "Bees sing.")]


def test_a_video_whose_claims_are_no_longer_found_has_none(store: Warehouse, home: Path) -> None:
    claim = samples.claim(0).claim_id
    record(VIDEO_ID, claim, [Change("note", "mine")], "ann", Settings(home=home))
    with store.connection() as connection:
        connection.execute("DELETE FROM claims")
    with pytest.raises(FactibleError, match="No claims of the video"):
        choose_claims(VIDEO_ID, ["Bees dance."], "ann", Settings(home=home))
