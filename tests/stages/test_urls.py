"""Canonical URLs, registrable domains and video references."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factible_assets.stages.urls import (
    UnusableUrlError,
    canonical_url,
    domain_of,
    host_and_parents,
    host_of,
    is_video_platform,
    mentions_video_id,
    public_suffix,
    published_at,
    registrable_domain,
    youtube_id_of,
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://news.example/a", "https://news.example/a"),
        ("https://News.EXAMPLE/a", "https://news.example/a"),
        ("https://www.news.example/a", "https://news.example/a"),
        ("https://news.example:443/a", "https://news.example/a"),
        ("http://news.example:80/a", "https://news.example/a"),
        ("https://news.example/a/", "https://news.example/a"),
        ("https://news.example", "https://news.example/"),
        ("https://news.example/a#part", "https://news.example/a"),
        ("https://news.example./a", "https://news.example/a"),
        ("https://me:secret@news.example/a", "https://news.example/a"),
        ("https://news.example/a?utm_source=x&fbclid=y&gclid=z", "https://news.example/a"),
        ("https://news.example/a?b=2&a=1", "https://news.example/a?a=1&b=2"),
        ("https://news.example/%7Ea", "https://news.example/~a"),
        ("https://news.example/%c3%a4", "https://news.example/ä"),
        ("https://news.example/b/../a", "https://news.example/a"),
        ("https://m.news.example/a", "https://news.example/a"),
        ("https://amp.news.example/a/amp/", "https://news.example/a"),
        ("https://news.example/a?amp=1", "https://news.example/a"),
        ("https://en.m.wikipedia.org/wiki/Cat", "https://en.wikipedia.org/wiki/Cat"),
        ("https://bücher.example/a", "https://xn--bcher-kva.example/a"),
        (" https://news.example/a\n", "https://news.example/a"),
    ],
)
def test_two_addresses_of_one_page_have_one_canonical_url(one: str, other: str) -> None:
    assert canonical_url(one) == canonical_url(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://news.example/a", "https://news.example/A"),
        ("https://news.example/a?id=1", "https://news.example/a?id=2"),
        ("https://de.wikipedia.org/wiki/A", "https://en.wikipedia.org/wiki/A"),
        ("https://news.example:8080/a", "https://news.example/a"),
        ("https://m.example/a", "https://example/a"),
        ("https://news.example/amp", "https://news.example/"),
        ("https://news.example/a%2Fb", "https://news.example/a/b"),
        ("https://one.github.io/a", "https://two.github.io/a"),
    ],
)
def test_different_pages_keep_different_canonical_urls(one: str, other: str) -> None:
    assert canonical_url(one) != canonical_url(other)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "no address",
        "ftp://news.example/a",
        "javascript:alert(1)",
        "file:///etc/hosts",
        "https://",
        "https:///a",
        "https://a b.example/",
        "https://news.example:port/",
        "https://[::1/",
        "https://exa<mple.example/",
        "https://a..example/",
    ],
)
def test_an_unusable_address_is_named_in_the_error(url: str) -> None:
    with pytest.raises(UnusableUrlError, match="no web address"):
        canonical_url(url)


hosts = st.sampled_from(
    ["news.example", "WWW.news.example", "m.amp.www.news.co.uk", "bücher.example", "127.0.0.1"]
)
pieces = st.text(st.sampled_from("aB/.%2~?&=+ä \\#:@;'\"[]🙂\u0301ampwm"), max_size=24)


@given(hosts, pieces, pieces)
def test_a_canonical_url_is_its_own_canonical_url(host: str, path: str, query: str) -> None:
    once = canonical_url(f"http://{host}/{path}?{query}")
    assert canonical_url(once) == once
    assert once.isascii()


@given(st.text(max_size=40))
def test_any_text_is_either_canonicalised_stably_or_refused(text: str) -> None:
    try:
        once = canonical_url(text)
    except UnusableUrlError:
        return
    assert canonical_url(once) == once


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("www.agency.example", "agency.example"),
        ("agency.example", "agency.example"),
        ("deep.below.site.test", "site.test"),
        ("localhost", "localhost"),
        ("news.bbc.co.uk", "bbc.co.uk"),
        ("name.blogspot.com", "name.blogspot.com"),
        ("www.gov.uk", "www.gov.uk"),
        ("gov.uk", "gov.uk"),
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]", "[::1]"),
        ("WWW.News.COM.", "news.com"),
    ],
)
def test_the_registrable_domain_follows_the_public_suffix_list(host: str, domain: str) -> None:
    assert registrable_domain(host) == domain


def test_parents_run_from_the_host_to_the_domain_that_a_registry_sold() -> None:
    assert host_and_parents("www.blogs.news.co.uk") == ("blogs.news.co.uk", "news.co.uk")
    assert host_and_parents("www.news.co.uk") == ("news.co.uk",)
    assert host_and_parents("name.blogspot.com") == ("name.blogspot.com", "blogspot.com")
    assert host_and_parents("localhost") == ("localhost",)


def test_public_suffixes_and_hosts_are_read_from_urls() -> None:
    assert public_suffix("a.go.jp") == "go.jp"
    assert host_of("https://WWW.News.example:8080/a") == "www.news.example"


def test_the_video_of_a_youtube_link_is_known_and_no_other() -> None:
    assert youtube_id_of("https://m.youtube.com/watch?list=x&v=-LDjqcvSbP4") == "-LDjqcvSbP4"
    for url in ("https://www.youtube.com/@channel", "https://news.example/watch?v=-LDjqcvSbP4"):
        assert youtube_id_of(url) is None


def test_a_video_id_is_found_in_other_sites_urls_only_as_a_whole_distinctive_word() -> None:
    assert mentions_video_id("https://scripts.example/t/-LDjqcvSbP4/en", "-LDjqcvSbP4")
    assert not mentions_video_id("https://scripts.example/t/x-LDjqcvSbP4", "-LDjqcvSbP4")
    assert not mentions_video_id("https://news.example/documentary", "documentary")


def test_platforms_are_known() -> None:
    assert is_video_platform("m.youtube.com")
    assert not is_video_platform("news.example")


@pytest.mark.parametrize(
    "copy",
    [
        "https://web.archive.org/web/20200101000000id_/https://site.example/page",
        "https://web.archive.org/web/https://site.example/page",
        "https://webarchive.nationalarchives.gov.uk/ukgwa/20200101000000/https://site.example/page",
        "https://arquivo.pt/wayback/20200101000000/https://site.example/page",
        "https://archive.ph/newest/https://site.example/page",
        "https://archive.today/2013.05.29-160530/https://site.example/page",
        "https://site-example.cdn.ampproject.org/c/s/site.example/page",
        "https://cdn.ampproject.org/c/s/site.example/page",
        "https://www.google.co.uk/amp/s/site.example/page",
        "https://site-example.translate.goog/page",
        "https://r.jina.ai/https://site.example/page",
    ],
)
def test_a_site_answers_for_its_page_wherever_a_copy_of_it_is_shown(copy: str) -> None:
    """A government that archives a page does not vouch for it."""
    assert domain_of(published_at(copy)) == "site.example"


@pytest.mark.parametrize(
    "url",
    [
        "https://site.example/web.archive.org/web/2020/https://who.int/",
        "https://site.example/newest/https://who.int/",
        "https://www.google.site.example/amp/s/who.int/",
        "https://who-int.translate.goog.site.example/",
        "https://who.int@site.example/",
        r"https://who.int\@site.example/",
        "https://site.example#@who.int/",
        "https://who%2eint.site.example/",
    ],
)
def test_no_site_borrows_the_name_of_another_by_writing_it_into_its_own_addresses(url: str) -> None:
    assert domain_of(published_at(url)) == "site.example"


@pytest.mark.parametrize("inner", ["http://[bad/x", "javascript:alert.x", "https://a.test:99999/x"])
def test_an_archive_of_something_else_keeps_its_own_address(inner: str) -> None:
    capture = f"https://web.archive.org/web/2020/{inner}"
    assert published_at(capture) == capture
