from __future__ import annotations

import io

import pytest
from rich.console import Console

from factible_assets.cli.output import plain
from factible_assets.cli.progress import LiveObserver, PlainObserver, watching
from tests.report import samples


def test_plain_lines_tell_of_claims_and_of_each_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    observer = PlainObserver()
    observer.claims_found([samples.claim(0), samples.claim(1)])
    observer.verdict_reached(samples.claim(1), samples.verdict(1, "refutes", basis="llm"))
    observer.verdict_reached(samples.claim(0), samples.verdict(0, "incomplete"))
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "claims found: 2",
        f"  6. 0:00 {samples.SENTENCES[0]}",
        f"  5. 0:10 {samples.SENTENCES[1]}",
        f"verdict 1/2: refuted (medium confidence) – {samples.SENTENCES[1]}",
        f"verdict 2/2: incomplete – {samples.SENTENCES[0]}",
    ]


def test_an_embedded_verdict_is_told_as_a_leaning(capsys: pytest.CaptureFixture[str]) -> None:
    PlainObserver().verdict_reached(samples.claim(0), samples.verdict(0, "supports"))
    assert "leaning supported" in capsys.readouterr().err


def drawn(observer: LiveObserver, width: int = 100) -> str:
    stream = io.StringIO()
    Console(file=stream, width=width, markup=False).print(observer)
    return stream.getvalue()


def test_the_live_display_shows_where_each_claim_is() -> None:
    observer = LiveObserver()
    assert "reading the transcript" in drawn(observer)
    observer.claims_found([samples.claim(0), samples.claim(1)])
    observer.stage_progressed("search_hits", samples.claim(0), 1, 3)
    observer.verdict_reached(samples.claim(1), samples.verdict(1, "refutes"))
    first, second = drawn(observer).splitlines()
    assert "search hits 1/3" in first
    assert "leaning refuted" in second


def test_a_claim_that_was_never_announced_is_shown_all_the_same() -> None:
    observer = LiveObserver()
    observer.stage_progressed("evidence", samples.claim(0), 0, 0)
    assert samples.SENTENCES[0] in drawn(observer)


def test_the_live_display_fits_a_narrow_terminal() -> None:
    observer = LiveObserver()
    observer.claims_found([samples.claim(1)])
    assert max(map(len, drawn(observer, width=50).splitlines())) <= 50


def test_where_nobody_watches_lines_are_written() -> None:
    with watching() as observer:
        assert isinstance(observer, PlainObserver)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b]0;title\x07b", "a ]0;title b"),
        ("two\nlines\t here", "two lines here"),
        ("right\u202eleft", "right left"),
    ],
)
def test_hostile_text_moves_no_cursor(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_long_text_is_shortened() -> None:
    assert plain("word " * 10, 12) == "word word w…"
