from __future__ import annotations

import io

import pytest
from rich.console import Console

from factible_assets.cli.output import output_mode, without_controls
from factible_assets.cli.progress import (
    STOPPING,
    LiveObserver,
    PlainObserver,
    breaking_silence,
    watching,
)
from factible_assets.wording import plain
from resources.llm.limits import Budget, Ceiling
from tests.patience import eventually
from tests.report import samples


def test_plain_lines_tell_of_claims_and_of_each_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    observer = PlainObserver()
    observer.claims_found([samples.claim(0), samples.claim(1)])
    observer.verdict_reached(samples.claim(1), samples.verdict(1, "refutes", basis="llm"))
    observer.verdict_reached(samples.claim(0), samples.verdict(0, "incomplete"))
    # A retried step reports its verdicts again.
    observer.verdict_reached(samples.claim(1), samples.verdict(1, "refutes", basis="llm"))
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "claims found: 2",
        f"  6. 0:00 {samples.SENTENCES[0]}",
        f"  5. 0:10 {samples.SENTENCES[1]}",
        f"verdict 1/2: refuted (medium confidence) – {samples.SENTENCES[1]}",
        f"verdict 2/2: incomplete – {samples.SENTENCES[0]}",
        f"verdict 1/2: refuted (medium confidence) – {samples.SENTENCES[1]}",
    ]


def test_a_claim_is_shown_when_its_check_begins_before_all_claims_are_found(
    capsys: pytest.CaptureFixture[str],
) -> None:
    PlainObserver().claim_begun(samples.claim(1))
    assert capsys.readouterr().err == f"checking 0:10 {samples.SENTENCES[1]}\n"
    live = LiveObserver()
    live.claim_begun(samples.claim(1))
    live.stage_progressed("evidence", samples.claim(1), 1, 3)
    live.claims_found([samples.claim(0), samples.claim(1)])
    console = Console(file=io.StringIO(), width=100)
    console.print(live)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "2 found" in shown
    assert "pages 1/3" in shown


def test_a_piped_check_prints_a_line_after_a_silence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("factible_assets.cli.progress._SILENCE", 0.05)
    said = ""

    def is_said() -> bool:
        nonlocal said
        said += capsys.readouterr().err
        return "still working" in said

    with breaking_silence(PlainObserver()) as observer:
        observer.stage_progressed("evidence", samples.claim(0), 1, 3)
        observer.remarked("The model could not word searches.")
        eventually(is_said)
    assert "The model could not word searches." in said
    assert "still working: 1 pages" in said


def test_the_number_of_omitted_claims_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    PlainObserver().claims_found([samples.claim(0), samples.claim(1)], 3)
    first = capsys.readouterr().err.splitlines()[0]
    assert first == "claims found: 2 of 5 shown; --max-claims shows more"


def test_an_embedded_verdict_is_printed_as_a_leaning(capsys: pytest.CaptureFixture[str]) -> None:
    PlainObserver().verdict_reached(samples.claim(0), samples.verdict(0, "supports"))
    assert "leaning supported" in capsys.readouterr().err


def drawn(observer: LiveObserver, width: int = 100, height: int = 40) -> str:
    stream = io.StringIO()
    Console(file=stream, width=width, height=height, markup=False).print(observer)
    return stream.getvalue()


def test_the_live_display_has_a_bar_for_each_stage_and_shows_where_each_claim_is() -> None:
    observer = LiveObserver()
    stages = [line.split()[0] for line in drawn(observer).splitlines()[:6]]
    assert stages == ["transcript", "claims", "queries", "search", "evidence", "verdicts"]
    observer.claims_found([samples.claim(0), samples.claim(1)])
    observer.stage_progressed("search_hits", samples.claim(0), 1, 3)
    shown = drawn(observer)
    assert "2 found" in shown
    assert "1 searches" in shown
    assert "0 of 2" in shown
    (line,) = (line for line in shown.splitlines() if samples.SENTENCES[0] in line)
    assert line.split()[-2:] == ["searches", "1/3"]


def test_a_verdict_becomes_a_lasting_line_and_closes_its_claim() -> None:
    told: list[str] = []
    observer = LiveObserver(tell=lambda line: told.append(line.plain))
    observer.claims_found([samples.claim(0), samples.claim(1)])
    observer.verdict_reached(samples.claim(1), samples.verdict(1, "refutes"))
    (line,) = told
    assert line.startswith("1/2   0:10  leaning refuted (medium)")
    assert samples.SENTENCES[1] in line
    shown = drawn(observer)
    assert samples.SENTENCES[1] not in shown
    assert "1 of 2" in shown


def test_the_costs_so_far_are_shown_live_and_in_lines(capsys: pytest.CaptureFixture[str]) -> None:
    def costs() -> Budget:
        budget = Budget("this run", Ceiling())
        budget.calls, budget.spent = 14, 0.0031
        return budget

    assert "14 model calls, $0.0031 so far" in drawn(LiveObserver(costs=costs))
    assert "no model cost so far" in drawn(
        LiveObserver(costs=lambda: Budget("this run", Ceiling()))
    )
    PlainObserver(costs).verdict_reached(samples.claim(0), samples.verdict(0, "supports"))
    assert capsys.readouterr().err.endswith("[14 model calls, $0.0031 so far]\n")


def test_the_time_that_has_passed_is_shown() -> None:
    moments = iter([100.0, 175.0])
    assert "1:15 · " in drawn(LiveObserver(now=lambda: next(moments)))


def test_stopping_is_shown() -> None:
    observer = LiveObserver()
    observer.stopping()
    assert STOPPING in drawn(observer)


def test_a_claim_without_announcement_is_shown() -> None:
    observer = LiveObserver()
    observer.stage_progressed("evidence", samples.claim(0), 0, 0)
    assert samples.SENTENCES[0] in drawn(observer)


def test_the_live_display_fits_a_narrow_terminal() -> None:
    observer = LiveObserver()
    observer.claims_found([samples.claim(1)])
    assert max(map(len, drawn(observer, width=50).splitlines())) <= 50


def test_claims_beyond_the_screen_are_counted() -> None:
    observer = LiveObserver()
    observer.claims_found([samples.claim(number) for number in range(5)])
    shown = drawn(observer, width=80, height=12).splitlines()
    assert len(shown) <= 12
    assert shown[-1].strip() == "… and 3 more"


def test_quiet_prints_no_progress(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_mode, "quiet", True)
    with watching() as observer:
        observer.claims_found([samples.claim(0)])
        observer.verdict_reached(samples.claim(0), samples.verdict(0, "supports"))
    assert capsys.readouterr() == ("", "")


def test_without_a_terminal_progress_is_lines() -> None:
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


def test_controls_in_text_of_several_lines_are_written_out() -> None:
    assert without_controls("a\x1b[31m\n\tb\x9b") == "a\\u001b[31m\n\tb\\u009b"


def test_long_text_is_shortened() -> None:
    assert plain("word " * 10, 12) == "word word w…"
