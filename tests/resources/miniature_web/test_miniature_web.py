"""The miniature web: reached, searched and read by the very clients of the real one."""

from __future__ import annotations

import socket
import threading
from collections.abc import AsyncIterator, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from resources.errors import SetupError
from resources.http import HttpClient, RetryPolicy, UnavailableError
from resources.miniature_web import SEARCH_BASE_URL, miniature_web
from resources.network_guard import NameTable, NetworkGuard
from resources.pages.scraper import PageFetcher
from resources.search.base import SearchAnswer, SearchRequest
from resources.search.providers import SerperSearch

SETTINGS = """
responses:
  - url: http://walled.example/
    status: 403
  - {url: "http://busy.example/page", status: 429, headers: {Retry-After: "60"}}
  - {url: "http://old.example/page", status: 301, headers: {Location: "http://agency.example/sugar"}}
  - {url: "http://agency.example/latin", status: 200, headers: {Content-Type: text/html}}
"""


def page(title: str, text: str, head: str = "") -> str:
    return f"<html><head><title>{title}</title>{head}</head><body><p>{text}</p></body></html>"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("outer") / "web"
    files = {
        "agency.example/index.html": page("The agency", "Welcome to the agency for food."),
        "agency.example/sugar.html": page(
            "Sugar and children",
            "Twenty-three trials found that sugar does not make children hyperactive.",
            '<meta property="article:published_time" content="2019-05-04T08:00:00Z">',
        ),
        "agency.example/deep/er/salt.html": page("Salt", "Salt keeps food from spoiling."),
        "agency.example/notes.txt": "A plain note.",
        "blog.example/sugar-rush.html": page(
            "The sugar rush",
            "Every parent knows what sugar does to children at a party.",
            '<meta name="date" content="2023-01-02">',
        ),
        "shop.example/index.html": page("Shop", "Buy sugar here, sugar, sugar, sugar."),
        "walled.example/index.html": page("Just a moment...", "Verify you are human"),
        "web.yaml": SETTINGS,
        "../secret.html": "outside",
    }
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, "utf-8")
    latin = page(
        "Zucker", "Zucker macht Kinder nicht überdreht. Größe zählt.", '<meta charset="latin-1">'
    )
    (folder / "agency.example/latin.html").write_bytes(latin.encode("latin-1"))
    (folder / "agency.example/link.html").symlink_to(folder / "../secret.html")
    return folder


@pytest.fixture(scope="module")
def web(root: Path) -> Iterator[NameTable]:
    with miniature_web(root) as names:
        yield names


def address(names: NameTable) -> tuple[str, int]:
    served = names.find("agency.example", 80)
    assert served is not None
    return served


@pytest.fixture
async def http(web: NameTable) -> AsyncIterator[HttpClient]:
    async with HttpClient(guard=NetworkGuard(web), retry=RetryPolicy(attempts=1)) as opened:
        yield opened


async def search(http: HttpClient, query: str, **asked: Any) -> SearchAnswer:
    client = SerperSearch(http, api_key="miniature", base_url=SEARCH_BASE_URL)
    (answer,) = await client.search(SearchRequest(query, **{"limit": 10, **asked}))
    assert isinstance(answer, SearchAnswer)
    return answer


@pytest.mark.parametrize(
    ("url", "title"),
    [
        ("http://agency.example/", "The agency"),
        ("http://agency.example", "The agency"),
        ("http://AGENCY.example/sugar", "Sugar and children"),
        ("http://agency.example/sugar?utm_source=x#top", "Sugar and children"),
        ("http://agency.example/deep/er/salt/", "Salt"),
        ("http://shop.example/", "Shop"),
        ("http://old.example/page", "Sugar and children"),
        ("http://agency.example/latin", "Zucker"),
    ],
)
async def test_pages_are_found_by_their_host_and_path(
    http: HttpClient, url: str, title: str
) -> None:
    found = await PageFetcher(http).fetch(url)
    assert (found.outcome, found.title) == ("ok", title)


async def test_a_page_in_latin_1_is_sent_without_charset_and_read_right(http: HttpClient) -> None:
    found = await PageFetcher(http).fetch("http://agency.example/latin")
    assert "Zucker macht Kinder nicht überdreht. Größe zählt." in found.text
    assert (await search(http, "überdreht")).hits[0].url == "http://agency.example/latin"


@pytest.mark.parametrize(
    "path",
    [
        "/nowhere",
        "/sugar.html.html",
        "/../secret",
        "/..%2fsecret",
        "/%2e%2e/secret",
        "/%2e%2e%2fsecret.html",
        "/deep/../../../secret",
        "/deep/er/../../../../secret.html",
        "//secret",
        "/\\..\\secret",
        "/link",
        "/notes.txt",
        "/web.yaml",
        "/../web.yaml",
        "/../../../../../../../etc/passwd",
        "/%00",
    ],
)
async def test_nothing_outside_the_listed_pages_is_served(http: HttpClient, path: str) -> None:
    response = await http.get(f"http://agency.example{path}")
    assert response.status == 404
    assert b"outside" not in response.body


async def test_a_raw_request_cannot_leave_the_folder_either(web: NameTable) -> None:
    for target in ("/../secret.html", "/../../secret.html", "../secret.html"):
        with socket.create_connection(address(web)) as raw:
            raw.sendall(f"GET {target} HTTP/1.1\r\nHost: agency.example\r\n".encode())
            raw.sendall(b"Connection: close\r\n\r\n")
            answer = raw.makefile("rb").read()
        assert b" 404 " in answer.split(b"\r\n")[0] or b" 400 " in answer.split(b"\r\n")[0]
        assert b"outside" not in answer


async def test_an_unknown_host_has_no_pages(http: HttpClient) -> None:
    assert (await http.get("http://unknown.example/sugar")).status == 404


async def test_other_names_are_not_led_here(http: HttpClient, web: NameTable) -> None:
    with pytest.raises(UnavailableError):
        await http.get(f"http://127.0.0.1:{address(web)[1]}/")


async def test_exceptions_answer_as_the_settings_say(http: HttpClient) -> None:
    walled = await PageFetcher(http).fetch("http://walled.example/")
    assert (walled.outcome, walled.http_status) == ("unavailable", 403)
    assert "answered 403" in (walled.reason or "")
    busy = await PageFetcher(http).fetch("http://busy.example/page")
    assert (busy.outcome, busy.http_status) == ("outage", 429)
    assert "wait 60 seconds" in (busy.reason or "")


async def test_a_search_ranks_pages_and_quotes_them(http: HttpClient) -> None:
    answer = await search(http, "Does sugar make children hyperactive?")
    assert answer.outcome == "ok"
    assert answer.hits[0].url == "http://agency.example/sugar"
    assert "sugar does not make children hyperactive" in answer.hits[0].snippet
    assert answer.hits[0].published_on == date(2019, 5, 4)
    assert [hit.rank for hit in answer.hits] == list(range(1, len(answer.hits) + 1))


async def test_every_hit_can_be_fetched(http: HttpClient) -> None:
    for hit in (await search(http, "sugar agency salt")).hits:
        assert (await http.get(hit.url)).status in {200, 403}


async def test_pages_of_results_do_not_repeat_each_other(http: HttpClient) -> None:
    whole = [hit.url for hit in (await search(http, "sugar agency")).hits]
    assert len(whole) >= 3
    single: list[str] = []
    for number in range(1, len(whole) + 1):
        answer = await search(http, "sugar agency", limit=1, page=number)
        assert [hit.rank for hit in answer.hits] == [number]
        single.extend(hit.url for hit in answer.hits)
    assert single == whole
    assert (await search(http, "sugar agency", limit=1, page=len(whole) + 1)).hits == ()


async def test_a_date_restriction_leaves_out_later_and_undated_pages(http: HttpClient) -> None:
    answer = await search(http, "sugar", before=date(2023, 1, 2))
    assert [hit.url for hit in answer.hits] == ["http://agency.example/sugar"]
    answer = await search(http, "sugar", before=date(2023, 1, 3))
    assert len(answer.hits) == 2


@pytest.mark.parametrize("query", ["the of and", '"', "sugar AND NOT (", "near(", "pages:*"])
async def test_no_words_and_odd_signs_are_no_error(http: HttpClient, query: str) -> None:
    assert (await search(http, query)).outcome == "ok"


def test_it_frees_its_port_and_thread(root: Path) -> None:
    threads = threading.active_count()
    with miniature_web(root) as names:
        place = address(names)
        with socket.socket() as probe:
            assert probe.connect_ex(place) == 0
    assert threading.active_count() == threads
    with socket.socket() as probe:
        assert probe.connect_ex(place) != 0


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(SetupError, match="nowhere is not a folder"),
        miniature_web(tmp_path / "nowhere"),
    ):
        pass


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("pages: []", "'pages' is not a key here"),
        (
            "responses:\n - {url: http://a.example/, state: 1}",
            ":2: 'state' is not a key here. Did you mean 'status'",
        ),
        (
            "responses:\n - {url: http://a.example/, status: 99}",
            ":2: status is '99': it should be .*200",
        ),
        ("responses:\n - {status: 404}", ":2: url is missing"),
        ("responses:\n - {url: http://a.example/, file: /etc/passwd}", ":2: file is '/etc/passwd'"),
    ],
)
def test_settings_that_are_wrong_are_refused_with_the_file_named(
    tmp_path: Path, settings: str, words: str
) -> None:
    (tmp_path / "web.yaml").write_text(settings)
    with pytest.raises(SetupError, match=words) as refusal, miniature_web(tmp_path):
        pass
    assert "web.yaml" in str(refusal.value)
