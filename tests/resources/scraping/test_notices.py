"""Telling notices from pages: by their words, in several languages, and never on real articles."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from factible_assets.settings import Settings
from resources.scraping.extract import decode, extract_html
from resources.scraping.notices import Obstacle, notice_in
from tests.shared_data import shared_data

CLOUDFLARE = """Connection timed out Error code 522
Visit cloudflare.com for more information.
What happened?
The initial connection between Cloudflare's network and the origin web server timed out.
As a result, the web page can not be displayed.
What can I do?
If you're a visitor of this website: Please try again in a few minutes."""
BACK_SOON = """We'll be back soon! Sorry for the inconvenience but we're performing some
maintenance at the moment. If you need to you can always contact us, otherwise we'll be back online
shortly!"""
CONSENT = """We use cookies and data to deliver and maintain services. If you choose to accept all,
we will also use cookies to personalise content. Accept all. Reject all. Privacy policy."""
LOREM = """Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt
ut labore et dolore magna aliqua. Ut enim ad minim veniam, quis nostrud exercitation ullamco. """
NEWS = """ChatGPT went down for thousands of users on Tuesday, according to the outage tracker
Downdetector. OpenAI said that it was investigating the matter. Reports peaked at 1,500
shortly after ten in the morning and fell again within the hour. The company blamed a
failed update of its servers, and said that all of its services had been restored by
noon. It was the third outage of the month."""


@pytest.mark.parametrize(
    ("notice", "title", "text"),
    [
        ("broken", "", "Error establishing a database connection"),
        ("broken", "Site Maintenance", BACK_SOON),
        ("broken", "Daily News", "Briefly unavailable for scheduled maintenance. Check back soon."),
        ("broken", "502 Bad Gateway", "502 Bad Gateway\nnginx/1.18.0"),
        ("broken", "news.example | 522: Connection timed out", CLOUDFLARE),
        ("broken", "Application error: a client-side exception has occurred", "See the console."),
        ("broken", "Server Error in '/' Application.", "Runtime Error\nThe current settings …"),
        (
            "broken",
            "Error",
            "An error occurred.\nThe page is currently unavailable. Try again later.",
        ),
        ("broken", "Welcome to nginx!", "Further configuration is required."),
        ("broken", "", "Warning: mysqli_connect(): Connection refused in db.php on line 12"),
        ("broken", "Wartungsarbeiten", "Unsere Seite wird gerade gewartet."),
        ("broken", "Le Site", "Le site est actuellement en maintenance. Réessayer plus tard."),
        ("broken", "El sitio", "Error al establecer una conexión con la base de datos"),
        ("broken", "系统维护", "系统正在维护 请稍后再试"),
        ("broken", "ニュース", "ただいまメンテナンス中です。しばらくお待ちください。"),
        ("gone", "Page not found - The Site", "It looks like nothing was found here. Search?"),
        ("gone", "404", "The page you are looking for doesn't exist or has been moved."),
        ("parked", "site.example", "site.example is for sale! Buy this domain."),
        ("parked", "This domain may be for sale", "Related searches: health insurance"),
        ("busy", "", "Too many requests. Please slow down."),
        ("listing", "Index of /reports/2020", "Name Last modified Size\nParent Directory\n" * 200),
        ("unfinished", "About us", f"Welcome to our site. {LOREM * 20}"),
        ("busy", "Tickets", "You are now in line. Your estimated wait time is 3 minutes."),
        ("consent", "Before you continue", CONSENT),
        ("menu", "The Daily", "World\nBusiness\nOpinion and analysis\nLetters\n" * 6),
        (None, "Members", "Ada Lovelace, 1815\nMary Somerville, 1780\n" * 6),
        (
            None,
            "Haiku",
            "An old silent pond\nA frog jumps into the pond\nSplash! Silence again.\n" * 4,
        ),
        (None, "ChatGPT down: service unavailable for thousands", NEWS),
        (
            None,
            "Train service temporarily unavailable",
            "The line from Lyon to Turin is closed after a landslide, the operator said on Sunday.",
        ),
        (
            None,
            "Wartung am Kraftwerk",
            "Das Kraftwerk wird wegen Wartungsarbeiten abgeschaltet, teilte der Betreiber mit.",
        ),
        (None, 'How to fix "Error establishing a database connection"', "It means this. " * 90),
        (None, "500 years of printing", "Five hundred years ago the press came to the city."),
        (None, "2020 Electoral College Results", "Biden 306, Trump 232. Majority: 538/270."),
        (
            None,
            "What lorem ipsum means",
            f"Printers fill pages with it. {LOREM} {'It is old. ' * 90}",
        ),
        (None, "Aircraft maintenance", "Aircraft maintenance is the overhaul of an aircraft."),
        (None, "Cookies", "Bake the cookies for ten minutes, then let them cool on a rack. " * 4),
        (
            None,
            "Nước sôi",
            "Các nhà khoa học đã phát hiện ra rằng nước sôi ở nhiệt độ thấp hơn. " * 3,
        ),
    ],
)
def test_a_notice_is_told_from_an_article(notice: Obstacle | None, title: str, text: str) -> None:
    assert notice_in([title], text) == notice


def test_no_real_page_and_no_page_of_the_demo_is_taken_for_a_notice() -> None:
    """Of 258 recorded pages none is, and of 1,024 snippets, as short as notices, none either."""
    recorded = shared_data("recorded_web")
    pages = [json.loads(line) for line in (recorded / "pages.jsonl").read_text().splitlines()]
    assert {
        page["url"] for page in pages if notice_in([page["title"] or ""], page["text"])
    } == set()
    searches = [json.loads(line) for line in (recorded / "hits.jsonl").read_text().splitlines()]
    hits = [hit for search in searches for hit in search["hits"]]
    assert {hit["url"] for hit in hits if notice_in([hit["title"]], hit["snippet"] or "")} == set()


def test_every_page_of_the_demo_is_read() -> None:
    """Those that are meant to be walls, gone or drawn by scripts are told so, and no other."""
    files = sorted((Settings().project_corpora / "miniature_web").rglob("*.html"))
    read = {file.name: extract_html(decode(file.read_bytes()), "http://x.test/") for file in files}
    assert Counter(page.obstacle for page in read.values() if page.obstacle) == {
        "blocked": 2,
        "gone": 2,
        "needs a browser": 1,
    }
