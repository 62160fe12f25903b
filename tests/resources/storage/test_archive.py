from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resources.pages.base import FetchedPage
from resources.search.base import FoundHit, SearchRequest
from resources.storage.archive import Archive, match_expression, query_key
from resources.storage.imports import ArchiveError, ArchiveImportError, ImportedEntry, NewSearch
from tests.resources.storage.pages import saved
from tests.shared_data import shared_data

DAY = datetime(2026, 1, 2, tzinfo=UTC)


def search(
    archive: Archive, query: str, *collections: str, limit: int = 10, **wishes: Any
) -> tuple[FoundHit, ...]:
    return archive.search(SearchRequest(query, limit, **wishes), collections or None)


def urls(archive: Archive, query: str, *collections: str, **wishes: Any) -> list[str]:
    return [hit.url for hit in search(archive, query, *collections, **wishes)]


def keep(archive: Archive, recorded: NewSearch) -> None:
    archive.store([ImportedEntry(recorded, 1, 1)], "w")


def page(name: str, text: str, **more: Any) -> FetchedPage:
    return saved(f"https://{name}.org/page", text, title=name, **more)


# --- Finding ------------------------------------------------------------------------------------


def test_pages_are_ranked_by_how_well_they_match(archive: Archive) -> None:
    archive.add_page(page("sugar", "Sugar does not make children hyperactive. Sugar trials."), "w")
    archive.add_page(page("tea", "Tea with sugar is popular in many countries of the world."), "w")
    archive.add_page(page("whale", "Whales sing in the ocean."), "w")
    assert urls(archive, "does sugar make children hyperactive?") == [
        "https://sugar.org/page",
        "https://tea.org/page",
    ]


def test_the_snippet_shows_the_words_around_the_match(archive: Archive) -> None:
    archive.add_page(page("long", "filler " * 500 + "the moon landing was filmed " * 2), "w")
    (hit,) = search(archive, "moon landing")
    assert "moon landing was filmed" in hit.snippet
    assert len(hit.snippet.split()) < 60


def test_a_very_long_page_shows_its_beginning(archive: Archive) -> None:
    # 30,000 occurrences of the words: FTS5 would take a minute to find the best excerpt.
    archive.add_page(page("book", "The book. " + "the moon landing was filmed " * 10_000), "w")
    (hit,) = search(archive, "moon landing filmed")
    assert hit.snippet.startswith("The book. the moon")
    assert len(hit.snippet) == 300


def test_a_recorded_query_gives_its_hits_first_and_in_their_order(archive: Archive) -> None:
    archive.add_page(page("match", "coffee stunts growth " * 5), "w")
    recorded = NewSearch(
        "Does coffee stunt growth?",
        date(2025, 1, 1),
        (
            FoundHit(1, "One", "https://one.org/a", "nothing of it"),
            FoundHit(2, "Two", "https://two.org/b", "coffee growth"),
        ),
    )
    keep(archive, recorded)
    hits = search(archive, "  does COFFEE stunt “growth” ")
    assert [hit.url for hit in hits] == [
        "https://one.org/a",
        "https://two.org/b",
        "https://match.org/page",
    ]
    assert [hit.rank for hit in hits] == [1, 2, 3]
    assert hits[0].snippet == "nothing of it"


def test_hits_without_text_are_found_and_come_after_equal_pages_with_text(archive: Archive) -> None:
    words = "vaccines and autism are not linked"
    hit = FoundHit(1, "equal", "https://only-a-hit.org/x", words)
    keep(archive, NewSearch("other question", None, (hit,)))
    archive.add_page(saved("https://with-text.org/x", text=words, title="equal"), "w")
    found = search(archive, "vaccines autism")
    assert [each.url for each in found] == ["https://with-text.org/x", "https://only-a-hit.org/x"]


def test_pages_of_results_follow_each_other_without_gap_or_repetition(archive: Archive) -> None:
    for number in range(11):
        archive.add_page(page(f"p{number}", "ice " * (number + 1) + "melts"), "w")
    keep(archive, NewSearch("ice melts", None, (FoundHit(1, "p3", "https://p3.org/page", ""),)))
    everything = urls(archive, "ice melts", limit=20)
    paged: list[str] = []
    for number in (1, 2, 3, 4):
        paged += urls(archive, "ice melts", limit=4, page=number)
    assert paged == everything
    assert len(set(everything)) == 11
    assert search(archive, "ice melts", limit=4, page=3)[0].rank == 9


def test_a_page_of_two_collections_is_listed_once_and_collections_keep_apart(
    archive: Archive,
) -> None:
    archive.add_page(page("both", "volcano ash"), "one")
    archive.add_page(page("both", "volcano ash and more"), "two")
    archive.add_page(page("single", "volcano"), "two")
    assert urls(archive, "volcano", "one") == ["https://both.org/page"]
    assert sorted(urls(archive, "volcano")) == ["https://both.org/page", "https://single.org/page"]
    assert archive.page("https://single.org/page", ["one"]) is None
    assert archive.collections() == {"one": 1, "two": 2}


def test_a_page_with_another_text_changes_the_version_of_its_collection(archive: Archive) -> None:
    archive.add_page(page("ash", "volcano ash"), "one")
    archive.add_page(page("ash", "volcano ash"), "two")
    before = archive.versions()
    archive.add_page(page("ash", "volcano ash and more"), "two")
    after = archive.versions()
    assert (after["one"] == before["one"], after["two"] == before["two"]) == (True, False)


def test_fictional_pages_are_found_only_in_a_collection_that_is_named(archive: Archive) -> None:
    archive.add_page(saved("https://agency.example/a", text="fluoride teeth"), "miniature")
    assert urls(archive, "fluoride") == []
    assert archive.page("https://agency.example/a") is None
    assert urls(archive, "fluoride", "miniature") == ["https://agency.example/a"]


def test_a_page_is_found_by_every_form_of_its_address_and_after_a_redirect(
    archive: Archive,
) -> None:
    archive.add_page(page("a", "text", final_url="https://b.org/moved"), "w")
    for url in (
        "https://a.org/page",
        "http://www.a.org/page/?utm_source=x#top",
        "https://b.org/moved",
    ):
        found = archive.page(url)
        assert found is not None
        assert found.url == "https://a.org/page"
    assert archive.page("https://c.org/") is None
    assert archive.page("mailto:a@b.org") is None


@pytest.mark.parametrize(
    "query",
    [
        '"unbalanced',
        "ice AND NOT OR",
        "title: ice*",
        "NEAR(ice, 3)",
        "{ice} ^melt -cold +x",
        "'; DROP TABLE documents; --",
        "?!",
        "",
        "the of and",
        "冰 melts",
        "\x00ice",
    ],
)
def test_query_syntax_is_only_text(archive: Archive, query: str) -> None:
    archive.add_page(page("ice", "ice melts near the title"), "w")
    search(archive, query)
    assert archive.collections() == {"w": 1}


@given(st.text(max_size=80))
def test_no_query_is_a_syntax_error(query: str) -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5 (x, tokenize = 'porter unicode61')")
    expression = match_expression(query)
    if expression:
        connection.execute("SELECT * FROM t WHERE t MATCH ?", (expression,)).fetchall()
    connection.close()


def test_stop_words_are_left_out_unless_there_are_no_others() -> None:
    assert match_expression("Is the U.S. at 1.5 °C?") == '"U S" OR "1 5" OR "C"'
    assert match_expression("to be or not to be") == '"to" OR "be" OR "or" OR "not"'
    assert match_expression("word " * 500) == '"word"'
    assert match_expression(" ".join(f"w{n}" for n in range(500))).count(" OR ") == 63


@pytest.mark.parametrize("word", ["Straße", "weiße", "CO₂", "İzmir", "Ho\u0308hle"])
def test_a_word_is_found_as_it_is_written_whatever_its_case_folds_to(
    archive: Archive, word: str
) -> None:
    archive.add_page(page("as-is", f"Here is {word} in a page."), "w")
    archive.add_page(page("plain", "Here are strasse, weisse, CO2, izmir and hohle."), "w")
    for query in (word, f"{word}?"):
        assert sorted(urls(archive, query)) == ["https://as-is.org/page", "https://plain.org/page"]


def test_two_spellings_of_one_query_have_one_key() -> None:
    assert query_key("  Is “Ice”  cold? ") == query_key("is ice COLD")
    assert query_key("is ice cold") != query_key("is ice warm")


# --- Storing ------------------------------------------------------------------------------------


def test_a_newer_text_replaces_an_older_one_and_an_older_one_nothing(archive: Archive) -> None:
    archive.add_page(page("a", "first version", retrieved_at=DAY), "w")
    assert not archive.add_page(page("a", "stale", retrieved_at=DAY.replace(year=2020)), "w")
    assert archive.add_page(page("a", "second version", retrieved_at=DAY.replace(day=9)), "w")
    found = archive.page("https://a.org/page")
    assert found is not None
    assert (found.text, found.retrieved_at) == ("second version", DAY.replace(day=9))
    assert urls(archive, "first") == []
    assert urls(archive, "second") == ["https://a.org/page"]


def test_an_imported_undated_text_replaces_the_stored_one(archive: Archive, tmp_path: Path) -> None:
    def imported(*texts: str) -> str:
        lines = (json.dumps({"url": "https://a.org/page", "text": text}) for text in texts)
        file = tmp_path / "pages.jsonl"
        file.write_text("\n".join(lines), encoding="utf-8")
        archive.import_from(file, "w")
        found = archive.page("https://a.org/page")
        assert found is not None
        return found.text

    assert imported("Honey never, ever spoils.") == "Honey never, ever spoils."
    assert imported("Honey spoils.") == "Honey spoils."
    for copies in (("cut off", "cut off here"), ("cut off here", "cut off")):
        assert imported(*copies) == "cut off here"


WRITER = """
import pathlib, sys
from contextlib import closing
from datetime import UTC, datetime
from resources.storage.archive import Archive
from resources.search.base import SearchRequest
from resources.pages.base import FetchedPage
archive = Archive(pathlib.Path(sys.argv[1]))
for number in range(15):
    url = f"https://w{sys.argv[2]}.org/{number}"
    page = FetchedPage(url, "ok", datetime.now(UTC), text=f"shared words {number}")
    archive.add_page(page, "w")
    assert archive.search(SearchRequest("shared words", 3))
"""


def test_processes_write_and_read_one_new_archive_at_once_and_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "archive.sqlite"
    root = Path(__file__).resolve().parents[3]
    workers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(number)], cwd=root)
        for number in range(2)
    ]
    assert [worker.wait() for worker in workers] == [0, 0]
    assert Archive(path).collections() == {"w": 30}


@pytest.mark.parametrize("name", ["", "a b", "x/y", "'; --"])
def test_a_collection_needs_a_plain_name(archive: Archive, name: str) -> None:
    with pytest.raises(ArchiveImportError, match="cannot name a collection"):
        archive.add_page(page("a", "text"), name)


def test_other_files_are_refused_and_unchanged(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("These are my notes. " * 50)
    with pytest.raises(ArchiveError, match="archive"):
        Archive(text)
    assert text.read_text().startswith("These are my notes.")
    other = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE mine (x)")
    with pytest.raises(ArchiveError, match="belongs to something else"):
        Archive(other)
    newer = Archive(tmp_path / "newer.sqlite").path
    with closing(sqlite3.connect(newer)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(ArchiveError, match="newer version"):
        Archive(newer)


def test_a_place_that_cannot_hold_an_archive_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ArchiveError, match="Check that it can be written"):
        Archive(tmp_path / "file" / "archive.sqlite")
    with pytest.raises(ArchiveError, match=str(tmp_path)):
        Archive(tmp_path)


# --- Imports ------------------------------------------------------------------------------------

PAGES = [
    {"url": "https://a.org/1", "title": "One", "text": "The ice is melting."},
    {"url": "https://a.org/2", "title": "Two", "text": "Bees dance.", "published_on": "2020-05-06"},
]
SEARCH = {
    "video_id": "v",
    "query": "ice melting",
    "searched_on": "2025-12-14",
    "hits": [{"rank": 1, "title": "Three", "url": "https://a.org/3", "snippet": "cold"}],
}


def jsonl(path: Path, *documents: object) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in documents))
    return path


def test_pages_and_searches_are_imported_and_a_second_time_changes_nothing(
    archive: Archive, tmp_path: Path
) -> None:
    file = jsonl(tmp_path / "all.jsonl", *PAGES, SEARCH)
    told: list[tuple[int, int]] = []
    first = archive.import_from(file, "w", progress=lambda done, total: told.append((done, total)))
    assert (first.added, first.searches, first.hits) == (2, 1, 1)
    assert told[-1] == (file.stat().st_size, file.stat().st_size)
    assert urls(archive, "ice melting") == ["https://a.org/3", "https://a.org/1"]
    before = search(archive, "ice bees")
    again = archive.import_from(file, "w")
    assert (again.added, again.updated, again.unchanged) == (0, 0, 2)
    assert search(archive, "ice bees") == before


@pytest.mark.parametrize("when", [{}, {"retrieved_at": "2026-01-02"}])
@pytest.mark.parametrize(
    "corrected", [{"title": "Ice"}, {"author": "Ann"}, {"published_on": "2020-05-07"}]
)
def test_an_import_corrects_the_title_author_or_day_of_the_same_text(
    archive: Archive, tmp_path: Path, corrected: dict[str, str], when: dict[str, str]
) -> None:
    old = PAGES[1] | when
    archive.import_from(jsonl(tmp_path / "old.jsonl", old), "w")
    file = jsonl(tmp_path / "new.jsonl", old | corrected)
    report = archive.import_from(file, "w")
    assert (report.updated, report.unchanged) == (1, 0)
    found = archive.page("https://a.org/2")
    assert found is not None
    assert (
        corrected.items()
        <= {
            "title": found.title,
            "author": found.author,
            "published_on": str(found.published_on),
        }.items()
    )
    assert archive.import_from(file, "w").unchanged == 1


def test_a_final_address_that_is_none_is_left_out(archive: Archive, tmp_path: Path) -> None:
    archive.import_from(jsonl(tmp_path / "p.jsonl", {**PAGES[0], "final_url": "the same"}), "w")
    found = archive.page("https://a.org/1")
    assert found is not None
    assert found.final_url is None


def test_a_page_without_an_address_is_counted_and_left_out(
    archive: Archive, tmp_path: Path
) -> None:
    nameless = [{**PAGES[0], "url": url} for url in (None, float("nan"), "", "javascript:x")]
    report = archive.import_from(jsonl(tmp_path / "p.jsonl", *nameless, PAGES[1]), "w")
    assert (report.added, report.unusable) == (1, 4)
    assert ":1: " in report.remarks[0]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("{broken", "not JSON"),
        ("[1, 2]", "no mapping of keys to values"),
        ('{"url": "https://a.org"}', "text is missing"),
        ('{"query": "q", "hits": [3]}', "no mapping of keys to values"),
        (
            '{"query": "q", "hits": [{"rank": 0, "url": "https://a.org"}]}',
            "rank is 0: it should be",
        ),
        ('{"query": "q", "hits": [{"rank": "1"}]}', "rank is '1': it should be a valid integer"),
        ('{"query": "q", "hits": [], "searched_on": false}', "searched_on is False: write a date"),
        (
            '{"url": "https://a.org", "text": "t", "published_on": "soon"}',
            "published_on is 'soon': write a date in quotes",
        ),
        (
            '{"url": "https://a.org", "text": "t", "published_on": 20250101}',
            "published_on is 20250101: write a date in quotes",
        ),
        (
            '{"url": "https://a.org", "text": "t", "retrieved_at": "9999-12-31T23:59:59-23:00"}',
            "retrieved_at is '9999-12-31T23:59:59-23:00': write a date",
        ),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_one_malformed_line_imports_nothing_and_is_named(
    archive: Archive, tmp_path: Path, line: str, sentence: str
) -> None:
    file = jsonl(tmp_path / "p.jsonl", *PAGES)
    file.write_text(file.read_text() + line + "\n")
    with pytest.raises(ArchiveImportError) as refusal:
        archive.import_from(file, "w")
    assert str(refusal.value).startswith(f"{file}:3: ")
    assert sentence in str(refusal.value)
    assert "Nothing was imported" in str(refusal.value)
    assert archive.collections() == {}


def test_bytes_that_are_no_utf8_are_named_with_their_line(archive: Archive, tmp_path: Path) -> None:
    file = jsonl(tmp_path / "p.jsonl", *PAGES)
    file.write_bytes(file.read_bytes() + b'{"url": "https://a.org", "text": "\xff"}\n')
    with pytest.raises(ArchiveImportError, match=r"p\.jsonl:3: "):
        archive.import_from(file, "w")
    for encoding in ("utf-16", "utf-32"):
        file.write_text(json.dumps(PAGES[0]), encoding=encoding)
        with pytest.raises(ArchiveImportError, match=r"p\.jsonl:1: .* Save the file as UTF-8"):
            archive.import_from(file, "w")


def test_hits_without_a_web_address_are_named_and_left_out(
    archive: Archive, tmp_path: Path
) -> None:
    hits = [*SEARCH["hits"], {"url": "javascript:alert(1)"}, {"title": "None"}]
    file = jsonl(tmp_path / "hits.jsonl", {**SEARCH, "hits": hits})
    report = archive.import_from(file, "w")
    assert (report.searches, report.hits, report.unusable) == (1, 1, 2)
    assert report.remarks == (
        f"{file}:1: hit 2 has no web address ('javascript:alert(1)').",
        f"{file}:1: hit 3 has no web address ('').",
    )


def test_of_two_texts_for_one_address_the_one_that_is_left_out_is_named(
    archive: Archive, tmp_path: Path
) -> None:
    short, long = ({"url": "https://a.org/1", "text": text} for text in ("Cut.", "Cut off here."))
    for texts, lost, kept in (((short, long, long), 1, 2), ((long, short), 2, 1)):
        file = jsonl(tmp_path / "p.jsonl", *texts)
        report = archive.import_from(file, f"w{lost}")
        assert (report.added, report.updated, report.unusable) == (1, 0, 1)
        (remark,) = report.remarks
        assert remark.startswith(f"{file}:{lost}: {file}:{kept} has another text")
        assert "https://a.org/1" in remark
    dated = ({**each, "retrieved_at": f"202{n}-01-01"} for n, each in enumerate((short, long)))
    file = jsonl(tmp_path / "p.jsonl", *dated)
    assert len(archive.import_from(file, "dated").remarks) == 1


def test_a_missing_file_and_a_folder_without_pages_are_refused(
    archive: Archive, tmp_path: Path
) -> None:
    for name in ("none.jsonl", "none"):
        with pytest.raises(ArchiveImportError, match="There is no such file"):
            archive.import_from(tmp_path / name, "w")
    (tmp_path / "photo.png").write_bytes(b"\x89PNG")
    with pytest.raises(ArchiveImportError, match="holds no pages"):
        archive.import_from(tmp_path, "w")


def test_a_folder_of_saved_pages_is_read_with_its_titles(archive: Archive, tmp_path: Path) -> None:
    folder = tmp_path / "my pages"
    (folder / "sub").mkdir(parents=True)
    body = "<p>Fluoride in drinking water protects teeth from decay, as many studies found.</p>" * 4
    note = "<!DOCTYPE html>\n<!-- saved from url=(0022)https://health.org/fluo -->\n"
    saved = f"{note}<html><head><title>Fluor</title></head>"
    (folder / "saved.html").write_text(f"{saved}<body>{body}</body></html>")
    claimed = '<html><head><title>Käse</title><link rel="canonical" href="https://who.int/"></head>'
    (folder / "latin.htm").write_bytes(
        f'{claimed}<body><meta charset="iso-8859-1">{body}Käse</body></html>'.encode("latin-1")
    )
    (folder / "sub" / "note.md").write_text("# On whales\n\nWhales sing.")
    (folder / "plain_notes.txt").write_bytes("Grüße aus der Höhle".encode("cp1252"))
    (folder / ".hidden.txt").write_text("secret")
    (folder / "empty.txt").write_text("")
    (folder / "data.txt").write_bytes(b"\x00\x01\x02")
    jsonl(folder / "more.jsonl", *PAGES)
    report = archive.import_from(folder, "mine")
    assert (report.added, report.unusable) == (6, 2)
    (fluor,) = [hit for hit in search(archive, "fluoride") if hit.title == "Fluor"]
    assert fluor.url == "https://health.org/fluo"
    assert archive.page("https://who.int/") is None
    (whale,) = search(archive, "whales", "mine")
    assert whale.title == "On whales"
    assert whale.url.startswith("https://local-files.invalid/my%20pages-")
    (cave,) = search(archive, "Höhle")
    assert cave.title == "plain notes"
    assert search(archive, "secret") == ()
    again = archive.import_from(folder, "mine")
    assert (again.added, again.updated, again.unchanged) == (0, 0, 6)


def test_a_file_that_is_too_large_to_be_a_page_is_left_out(
    archive: Archive, tmp_path: Path
) -> None:
    with (tmp_path / "huge.html").open("wb") as file:
        file.truncate(50 * 1024 * 1024)
    (tmp_path / "small.txt").write_text("Small.")
    report = archive.import_from(tmp_path, "w")
    assert (report.added, report.unusable) == (1, 1)
    assert "52 MB" in report.remarks[0]


def test_pipes_loops_and_other_documents_are_left_out_and_any_name_is_read(
    archive: Archive, tmp_path: Path
) -> None:
    (tmp_path / "small.txt").write_text("Small.")
    (tmp_path / "web.mhtml").write_text("Saved.")
    for pipe in ("pipe.txt", "pipe.jsonl"):
        os.mkfifo(tmp_path / pipe)
    (tmp_path / "loop.txt").symlink_to("loop.txt")
    with open(os.fsencode(tmp_path) + b"/Mu\xf1oz.txt", "w") as file:  # noqa: PTH123
        file.write("Named by an old program.")
    report = archive.import_from(tmp_path, "w")
    assert (report.added, report.unusable) == (2, 4)
    *pipes, web = report.remarks
    (named,) = urls(archive, "program", "w")
    assert named.endswith("/Mu%F1oz.txt")
    assert all("no file that can be read" in pipe for pipe in pipes)
    assert "save it as .txt or .html" in web


def test_the_recorded_web_is_imported_whole(archive: Archive) -> None:
    folder = shared_data("recorded_web")
    report = archive.import_from(folder / "hits.jsonl", "recorded")
    archive.import_from(folder / "pages.jsonl", "recorded")
    lines = (folder / "hits.jsonl").read_text().splitlines()
    assert report.searches == len(lines)
    recorded = json.loads(lines[0])
    found = search(archive, recorded["query"], limit=5)
    assert found[0].url == recorded["hits"][0]["url"]


# --- Removing -----------------------------------------------------------------------------------


def test_a_page_stays_if_only_another_of_its_addresses_is_removed(archive: Archive) -> None:
    found = saved("https://sugar.org/page?utm_source=a", "Sweet.", final_url="https://s.org/")
    archive.add_page(found, "fetched")
    assert archive.remove([found.url, "https://s.org/"], "fetched") == 0
    assert archive.remove(["https://sugar.org/page"], "fetched") == 1


def test_removed_pages_are_in_no_search_and_no_byte(archive: Archive) -> None:
    for name in ("sugar", "tea"):
        archive.add_page(page(name, f"The {name} of xylophonists is sweet."), "fetched")
    archive.add_page(page("sugar", "The sugar of xylophonists is sweet."), "mine")
    asked = ["https://sugar.org/page", "https://nowhere.org/"]
    assert archive.remove(asked, "fetched", dry_run=True) == 1
    assert urls(archive, "xylophonists sweet", "fetched") == [
        "https://sugar.org/page",
        "https://tea.org/page",
    ]
    assert archive.remove(asked, "fetched") == 1
    assert urls(archive, "xylophonists sweet", "fetched") == ["https://tea.org/page"]
    assert urls(archive, "xylophonists sweet", "mine") == ["https://sugar.org/page"]
    assert archive.remove(asked, "mine") == 1
    files = [each.read_bytes() for each in archive.path.parent.iterdir() if each.is_file()]
    assert not any(b"sugar" in each for each in files)
