from __future__ import annotations

from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factible_assets.records.rows import VideoRows
from factible_assets.report.data import quote_url, safe_url, source_links
from factible_assets.wording import youtube_id
from tests.report import samples

PAGE = "https://a.example/page"


def test_a_short_quote_is_in_the_fragment_whole() -> None:
    assert quote_url(PAGE, "honey keeps, mostly") == f"{PAGE}#:~:text=honey%20keeps%2C%20mostly"


def test_the_syntax_of_text_fragments_is_escaped_in_quotes() -> None:
    assert quote_url(PAGE, "a-b & c, d") == f"{PAGE}#:~:text=a%2Db%20%26%20c%2C%20d"


def test_a_long_quote_gives_its_first_and_last_words() -> None:
    words = [f"w{number}" for number in range(30)]
    assert quote_url(PAGE, " ".join(words)) == (
        f"{PAGE}#:~:text=w0%20w1%20w2%20w3%20w4,w25%20w26%20w27%20w28%20w29"
    )


def test_a_quote_over_two_paragraphs_gives_its_ends() -> None:
    assert quote_url(PAGE, "one two\nthree four") == f"{PAGE}#:~:text=one%20two,three%20four"


def test_a_fragment_that_is_there_stays() -> None:
    assert quote_url(f"{PAGE}#part", "one two") == f"{PAGE}#part:~:text=one%20two"


def test_without_address_or_words_nothing_is_added() -> None:
    assert quote_url(None, "words") is None
    assert quote_url(PAGE, " \n ") == PAGE


@given(st.text(min_size=1, max_size=200))
def test_any_quote_leaves_the_address_safe_and_its_page_the_same(quote: str) -> None:
    url = quote_url(PAGE, quote)
    assert url is not None
    assert safe_url(url) == url
    assert urlsplit(url)._replace(fragment="").geturl() == PAGE
    words = quote.split()
    if words:
        shown = unquote(url.partition("text=")[2], errors="replace")
        assert shown.startswith(words[0].encode(errors="replace").decode())


FOUND = "https://a.example/page?id=found"


@pytest.mark.parametrize(
    ("final", "expected"),
    [
        (None, FOUND),
        ("https://www.a.example/page?id=1", "https://www.a.example/page?id=1"),
        ("https://nota.example/page", FOUND),
        ("https://a.example.evil.example/page", FOUND),
        ("https://u:p@a.example/", FOUND),
        ("javascript:alert(1)", FOUND),
    ],
)
def test_the_final_address_is_linked_on_the_domain_of_the_source(
    final: str | None, expected: str
) -> None:
    hit = samples.hit("h1", FOUND)
    row = samples.evidence(0, "a.example", page_id="p1")
    pages = [samples.page("p1", final)] if final else []
    assert source_links(VideoRows(hits=[hit], pages=pages), [row]) == {row.evidence_id: expected}


@pytest.mark.parametrize("found", ["https://u:p@a.example/", "javascript:alert(1)"])
def test_an_unsafe_address_is_replaced_by_the_canonical_one(found: str) -> None:
    row = samples.evidence(0, "a.example")
    rows = VideoRows(evidence=[row], hits=[samples.hit("h1", found)])
    assert source_links(rows, rows.evidence) == {row.evidence_id: row.canonical_url}


@pytest.mark.parametrize(
    ("video_id", "url", "expected"),
    [
        ("dQw4w9WgXcQ", "https://www.youtube.com/watch?v=dQw4w9WgXcQ", "dQw4w9WgXcQ"),
        ("-LDjqcvSbP4", "https://youtu.be/-LDjqcvSbP4", "-LDjqcvSbP4"),
        ("dQw4w9WgXcQ", None, "dQw4w9WgXcQ"),
        ("my-own-talk", "https://talks.example/my-own-talk", None),
        ("dQw4w9WgXcQ", "https://youtube.com.evil.example/", None),
        ("a-talk-of-mine", "https://www.youtube.com/watch?v=dQw4w9WgXcQ", None),
        ('"><script>1', None, None),
    ],
)
def test_only_videos_on_youtube_are_embedded(
    video_id: str, url: str | None, expected: str | None
) -> None:
    assert youtube_id(samples.video(video_id=video_id, url=url)) == expected
