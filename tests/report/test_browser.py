"""The report and the index in Chromium."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from factible_assets.report.render import render_report
from factible_assets.report.writing import render_index
from tests.chromium import needs_browser
from tests.report import samples
from tests.report.browser import PLAYER, chromium, visit
from tests.report.test_hostile_text import PAYLOADS, hostile_index, hostile_report

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = needs_browser

HREFS = {samples.VIDEO_ID: "one.html", "second-talk": "two.html"}
TELLING_PAYLOADS = ("".join(PAYLOADS), "".join(reversed(PAYLOADS)))

ATTACKS = (
    "const s = document.createElement('script'); s.textContent = 'alert(1)'; x.append(s)",
    "x.innerHTML = '<img src=x onerror=alert(1)>'",
    "const a = document.createElement('img'); a.src = 'https://evil.example/'; x.append(a)",
    "const f = document.createElement('iframe'); f.src = 'https://evil.example/'; x.append(f)",
    "x.setAttribute('onclick', 'alert(1)'); x.click()",
    "x.setAttribute('style', 'position:fixed')",
    "fetch('https://evil.example/')",
)
NOT_COLOURS = {"rules": {"color-contrast": {"enabled": False}}}
COLOURS = {"runOnly": ["color-contrast", "link-in-text-block"]}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def report() -> str:
    """A report with something in every one of its parts."""
    return render_report(
        samples.report_data(
            evidence=(
                *samples.report_data().evidence,
                *(samples.evidence(0, f"more-{number}.example") for number in range(3)),
            ),
            prior_fact_checks=samples.prior_fact_checks(),
            changes=samples.changes(),
            llm_calls=(samples.call(),),
            checks=2,
        ),
        index="index.html",
    )[0]


@pytest.fixture(scope="module")
def index() -> str:
    return render_index(samples.index_data(), HREFS)


def claim_id(number: int) -> str:
    return samples.claim(number).claim_id


# --- Hostile text, and the policy ----------------------------------------------------------------


def test_hostile_text_runs_nothing_and_sends_no_request(browser: Browser, report: str) -> None:
    with visit(browser, report) as seen:
        for payload in TELLING_PAYLOADS:
            for source in (
                render_report(hostile_report(payload))[0],
                render_index(hostile_index(payload), {}),
            ):
                seen.load(source)
                seen.open_everything()
                seen.page.keyboard.press("Tab")
                assert (payload, seen.ran, seen.violations) == (payload, [], [])
        assert seen.requests == []
        assert seen.errors == []


def test_pages_break_their_own_policy_nowhere(browser: Browser, report: str, index: str) -> None:
    for source in (report, index):
        with visit(browser, source) as seen:
            for button in seen.page.get_by_role("button").all():
                if button.is_visible():
                    button.click()
            assert seen.errors == []
            assert seen.violations == []


def test_the_policy_stops_scripts_that_escaping_missed(browser: Browser, report: str) -> None:
    with visit(browser, report) as seen:
        for attack in ATTACKS:
            before = len(seen.violations)
            seen.page.evaluate(
                "async () => { const x = document.querySelector('main');"
                f" try {{ await (async () => {{ {attack}; }})(); }} catch {{}} }}"
            )
            seen.page.wait_for_function("(n) => window.violations.length > n", arg=before)
            assert seen.ran == []
        assert seen.requests == []


# --- For everybody -------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["report", "index"])
def test_axe_finds_nothing_serious_in_light_in_dark_and_on_a_phone(
    browser: Browser, request: pytest.FixtureRequest, what: str
) -> None:
    base: Any = pytest.importorskip(
        "axe_playwright_python.base", reason="axe-playwright-python is not installed"
    )
    run = "(options) => axe.run({...options, resultTypes: ['violations']})"
    with visit(browser, request.getfixturevalue(what)) as seen:
        seen.open_everything()
        seen.page.evaluate(base.AXE_FILE_PATH.read_text("utf-8"))
        found = seen.page.evaluate(run, {})["violations"]
        seen.page.emulate_media(color_scheme="dark")
        found += seen.page.evaluate(run, COLOURS)["violations"]
        seen.page.set_viewport_size({"width": 360, "height": 740})
        found += seen.page.evaluate(run, NOT_COLOURS)["violations"]
    serious = [
        f"{each['id']}: {node['html'][:200]} {node['failureSummary'][:300]}"
        for each in found
        if each["impact"] in {"serious", "critical"}
        for node in each["nodes"]
    ]
    assert serious == []


def test_a_phone_lists_the_claims_once_and_nothing_is_wider(
    browser: Browser, report: str, index: str
) -> None:
    long_words = render_report(hostile_report("x" * 400, "https://a.example/" + "y" * 400))[0]
    with visit(browser, report) as seen:
        assert seen.page.locator(".glance").is_visible()
        seen.page.set_viewport_size({"width": 360, "height": 740})
        assert not seen.page.locator(".glance").is_visible()
        for source in (report, index, long_words):
            seen.load(source)
            seen.open_everything()
            for width in (768, 360, 320):
                seen.page.set_viewport_size({"width": width, "height": 740})
                assert seen.page.evaluate("document.documentElement.scrollWidth") <= width


def test_colours_follow_the_system_until_the_reader_chooses(browser: Browser, report: str) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    with visit(browser, report, colours="dark") as seen:
        dark = seen.page.evaluate(background)
        button = seen.page.locator("#theme")
        assert button.inner_text() == "Colours: auto"
        button.click()
        light = seen.page.evaluate(background)
        assert button.inner_text() == "Colours: light"
        assert light != dark
        seen.page.reload()
        assert seen.page.evaluate(background) == light
        button.click()
        assert seen.page.evaluate(background) == dark
        button.click()
        assert button.inner_text() == "Colours: auto"


# --- With the keyboard ---------------------------------------------------------------------------


def test_the_first_tab_offers_to_skip_to_the_claims(browser: Browser, report: str) -> None:
    with visit(browser, report) as seen:
        seen.page.keyboard.press("Tab")
        assert seen.focus()["href"] == "#claims"
        assert seen.page.locator(".skip").bounding_box() is not None
        seen.page.keyboard.press("Enter")
        seen.tab_to(href=f"#claim-{claim_id(0)}")


def test_the_keyboard_opens_a_claim_and_moves_the_video(browser: Browser, report: str) -> None:
    with visit(browser, report) as seen:
        seen.tab_to(id="play")
        assert seen.requests == []
        seen.page.keyboard.press("Enter")
        player = seen.page.frame_locator(".frame iframe")
        player.locator("body").wait_for(state="attached")
        frame = next(each for each in seen.page.frames if each.url.startswith(PLAYER))
        frame.wait_for_function("window.heard.some((each) => each.func === 'addEventListener')")
        seen.page.locator(f".glance a[href='#claim-{claim_id(1)}']").focus()
        seen.page.keyboard.press("Enter")
        seen.page.wait_for_function(
            "(id) => document.activeElement.id === id", arg=f"claim-{claim_id(1)}"
        )
        seen.page.keyboard.press("Tab")
        assert seen.focus()["href"].endswith("&t=10s")
        seen.page.keyboard.press("Enter")
        for told in ("seekTo", "playVideo"):
            frame.wait_for_function(f"window.heard.some((each) => each.func === '{told}')")
        heard = frame.evaluate("window.heard.filter((each) => each.event === 'command')")
        assert [each["args"] for each in heard if each["func"] == "seekTo"] == [[10, True]]
        assert len(seen.context.pages) == 1
        seen.page.wait_for_selector(".block.now")
        assert seen.page.locator("#player-status").inner_text() == "The video goes on at 0:10."


def test_a_claim_is_folded_to_its_verdict_and_its_best_quote(browser: Browser, report: str) -> None:
    with visit(browser, report) as seen:
        card = seen.page.locator(f"#claim-{claim_id(0)}")
        quotes = [each.strip("“”") for each in card.locator(".voice q").all_inner_texts()]
        assert quotes == [samples.QUOTE] * 2
        assert "Against that, c.example" in card.locator(".voice").last.inner_text()
        assert not card.locator("li.source").first.is_visible()
        card.locator(".rest > summary").focus()
        seen.page.keyboard.press("Enter")
        assert card.locator("li.source").first.is_visible()
        more = card.locator("details.more")
        more.locator("summary").first.focus()
        seen.page.keyboard.press("Enter")
        assert more.get_by_text("Notes of more-2.example").first.is_visible()
        seen.page.keyboard.press("Enter")
        assert more.get_attribute("open") is None


@pytest.mark.parametrize(("scripts", "length"), [(True, 17), (False, 17), (True, 7)])
def test_a_link_to_a_claim_opens_it(
    browser: Browser, report: str, scripts: bool, length: int
) -> None:
    fragment = f"#claim-{claim_id(0)[:length]}"
    with visit(browser, report, fragment=fragment, scripts=scripts) as seen:
        source = seen.page.locator(f"#claim-{claim_id(0)} li.source").first
        assert source.evaluate("(each) => each.checkVisibility({contentVisibilityAuto: true})")
        assert seen.page.locator(f"#claim-{claim_id(0)} .more li.source").first.is_hidden()
        assert seen.page.locator(f"#claim-{claim_id(1)} .figures").is_hidden()


def test_links_within_the_report_open_and_focus_their_targets(
    browser: Browser, report: str
) -> None:
    with visit(browser, report) as seen:

        def assert_focused(number: int) -> None:
            card = f"claim-{claim_id(number)}"
            seen.page.wait_for_function("(id) => document.activeElement.id === id", arg=card)

        assert not seen.page.locator(".stored").is_visible()
        seen.page.locator(f"#claim-{claim_id(0)} .voice a").first.click()
        source = seen.page.locator(f"#claim-{claim_id(0)} li.source:focus")
        source.wait_for(state="visible")
        assert "a.example" in source.inner_text()
        seen.page.get_by_role("link", name="The quote in the stored text").first.click()
        stored = seen.page.locator(".stored mark")
        stored.wait_for(state="visible")
        assert stored.inner_text() == samples.QUOTE
        seen.page.get_by_role("link", name="claim 1", exact=True).first.click()
        assert_focused(0)
        seen.page.get_by_role("link", name=samples.SENTENCES[2]).first.click()
        assert_focused(2)


# --- The video -----------------------------------------------------------------------------------


def test_youtube_is_loaded_when_the_reader_plays_and_stays_in_sight_until_stopped(
    browser: Browser, report: str
) -> None:
    with visit(browser, report) as seen:
        seen.page.mouse.wheel(0, 4000)
        assert seen.requests == []
        seen.page.click("#play")
        seen.page.frame_locator(".frame iframe").locator("body").wait_for(state="attached")
        (request,) = seen.requests
        assert request.startswith(f"{PLAYER}/embed/{samples.VIDEO_ID}?")
        assert "enablejsapi=1" in request
        # YouTube needs the origin of the page, but not its path.
        assert seen.referrers == ["http://reports.example/"]
        seen.page.locator("#how-to-read").scroll_into_view_if_needed()
        seen.page.wait_for_selector(".frame.pinned")
        frame = next(each for each in seen.page.frames if each.url.startswith(PLAYER))
        frame.wait_for_function("window.heard.some((each) => each.func === 'addEventListener')")
        frame.evaluate("parent.postMessage(JSON.stringify({event: 'onError', info: 150}), '*')")
        seen.page.get_by_text("YouTube does not play this video here.").wait_for()
        seen.page.get_by_role("button", name="Stop").click()
        assert seen.page.locator("iframe").count() == 0
        assert seen.page.locator("#play").is_visible()


def test_a_silent_player_leaves_the_links_as_they_are_and_others_cannot_answer_for_it(
    browser: Browser, report: str
) -> None:
    with visit(browser, report, mute=True, alone=True) as seen:
        seen.page.clock.install()
        seen.page.click("#play")
        seen.page.evaluate("postMessage(JSON.stringify({event: 'onReady'}), '*')")
        # This message comes after the forged one.
        seen.page.evaluate(
            "new Promise((done) => { addEventListener('message', done); postMessage('', '*'); })"
        )
        seen.page.clock.run_for(11_000)
        note = seen.page.locator("#player-note")
        assert "does not answer" in note.inner_text()
        assert "open YouTube at that second" in note.inner_text()
        with seen.context.expect_page() as opened:
            seen.page.get_by_role("link", name="jump to 0:10").click()
        opened.value.close()
        assert any(each.endswith("&t=10s") for each in seen.requests)


def test_a_report_from_disk_links_youtube_instead_of_playing(
    browser: Browser, report: str, tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    path.write_text(report, "utf-8")
    with visit(browser, report) as seen:
        seen.page.goto(path.as_uri())
        assert not seen.page.locator("#play").is_visible()
        assert seen.page.get_by_role("link", name="Watch on YouTube").is_visible()
        note = seen.page.locator("#player-note").inner_text()
        assert note == "The times on this page open YouTube at that second."
        seen.page.click("#open-all")
        seen.page.get_by_role("link", name="The quote in the stored text").first.click()
        seen.page.locator(".stored mark").wait_for(state="visible")
        assert seen.requests == []
        assert seen.violations == []


# --- On paper, and without scripts ---------------------------------------------------------------


def test_print_has_a_line_for_every_claim_and_the_open_claims(
    browser: Browser, report: str
) -> None:
    with visit(browser, report, colours="dark") as seen:
        seen.page.emulate_media(media="print")
        assert [each.is_visible() for each in seen.page.locator(".on-paper").all()] == [True] * 6
        first = seen.page.locator(".on-paper").first.inner_text()
        assert first.startswith(
            "leaning supported, medium confidence. a.example seems to bear the claim out: "
        )
        cards = seen.page.locator("article.claim")
        assert [each.is_visible() for each in cards.all()] == [False] * 6
        for left_out in ("#panel", "#stored", "#how-to-read", "#theme", "#open-all", ".player"):
            assert not seen.page.locator(left_out).is_visible()
        assert seen.page.evaluate("getComputedStyle(document.body).backgroundColor") == (
            "rgb(255, 255, 255)"
        )
        assert seen.page.pdf().count(b"/Type /Page\n") <= 2
        summary = seen.page.locator(".glance")
        assert summary.evaluate("(each) => getComputedStyle(each).overflowY") == "visible"
        seen.page.emulate_media(media="screen")
        seen.page.locator(".rest > summary").first.click()
        seen.page.emulate_media(media="print")
        assert [each.is_visible() for each in cards.all()] == [True] + [False] * 5
        folded = seen.page.locator("details.more li.source").first
        assert folded.evaluate("(each) => each.checkVisibility({contentVisibilityAuto: true})")
        seen.page.emulate_media(media="screen")
        seen.page.click("#open-all")
        seen.page.emulate_media(media="print")
        assert [each.is_visible() for each in cards.all()] == [True] * 6
        panel = seen.page.locator("#panel")
        assert panel.is_visible()
        assert panel.evaluate("(each) => each.scrollHeight - each.clientHeight") <= 1


def test_without_scripts_the_report_is_whole(browser: Browser, report: str) -> None:
    with visit(browser, report, scripts=False) as seen:
        assert not seen.page.locator("#play").is_visible()
        assert not seen.page.locator("#theme").is_visible()
        assert seen.page.get_by_role("link", name="Watch on YouTube").is_visible()
        seen.page.locator(".rest > summary").first.click()
        seen.page.get_by_role("link", name="The quote in the stored text").first.click()
        assert seen.page.locator(".stored mark").is_visible()
        seen.page.locator("details.more > summary").first.click()
        assert seen.page.get_by_text("Notes of more-2.example").first.is_visible()


def test_without_scripts_the_index_shows_its_videos(browser: Browser, index: str) -> None:
    with visit(browser, index, scripts=False) as seen:
        assert len(shown(seen, "videos")) == 3
        assert not seen.page.locator("search").is_visible()
        assert seen.page.get_by_text("the claims in the reports of their videos").is_visible()


# --- The index -----------------------------------------------------------------------------------


def shown(seen: Any, table: str) -> list[str]:
    rows = seen.page.locator(f"#{table} tbody tr:not([hidden]) th[scope=row] > span:first-child")
    return [text.strip() for text in rows.all_inner_texts()]


def test_filters_keep_claims_and_their_videos_and_combine(browser: Browser, index: str) -> None:
    with visit(browser, index) as seen:
        seen.page.select_option("[data-filter=outcome]", "mixed")
        assert shown(seen, "videos") == ["Six things people believe"]
        assert "1 of 6" in seen.page.locator("#videos tbody tr").first.inner_text()
        seen.page.click("#show-claims")
        assert shown(seen, "claims") == [samples.SENTENCES[2]]
        assert seen.page.locator("#shown").inner_text() == "1 of 8 claims in 1 of 3 videos"
        seen.page.click("#reset")
        seen.page.select_option("[data-filter=confidence]", "high")
        seen.page.select_option("[data-filter=channel]", "Other")
        assert shown(seen, "claims") == [samples.SENTENCES[0]]
        seen.page.select_option("[data-filter=corpus]", "kitchen")
        assert shown(seen, "claims") == []
        assert seen.page.locator("#no-claims").is_visible()
        seen.page.click("#reset")
        assert len(shown(seen, "claims")) == 8


def test_leanings_count_apart_with_and_without_scripts(browser: Browser) -> None:
    claims = [samples.indexed_claim(1, claim_id=f"c{n}") for n in range(3)]
    claims.append(samples.indexed_claim(1, claim_id="c3", basis="llm"))
    page = render_index(samples.index([samples.indexed(claims=claims)]), {})
    for scripts in (False, True):
        with visit(browser, page, scripts=scripts) as seen:
            counts = seen.page.locator("#videos tbody li").all_inner_texts()
            assert [each.split()[1:] for each in counts] == [
                ["3", "leaning", "refuted"],
                ["1", "refuted"],
            ]


def test_searches_look_into_titles_channels_and_claims_and_dates_bound_checks(
    browser: Browser, index: str
) -> None:
    with visit(browser, index) as seen:
        for words, videos in (
            ("GOLDFISH forget", ["Six things people believe"]),
            ("second talk", ["A second talk"]),
            ("third", ["A third talk"]),
            ("nothing like it", []),
        ):
            seen.page.fill("[data-filter=text]", words)
            kept = "new URLSearchParams(location.hash.slice(1)).get('text')"
            seen.page.wait_for_function(f"(words) => {kept} === words", arg=words)
            assert shown(seen, "videos") == videos
        seen.page.click("#reset")
        seen.page.fill("[data-filter=from]", "2026-01-15")
        assert shown(seen, "videos") == ["A second talk"]
        seen.page.fill("[data-filter=from]", "")
        seen.page.fill("[data-filter=to]", "2026-01-15")
        assert shown(seen, "videos") == ["Six things people believe"]


def test_a_filtered_index_can_be_kept_as_a_link(browser: Browser, index: str) -> None:
    with visit(browser, index, fragment="#outcome=refutes&view=claims") as seen:
        assert shown(seen, "claims") == [samples.SENTENCES[1], samples.SENTENCES[1]]
        assert seen.page.locator("[data-filter=outcome]").input_value() == "refutes"
        seen.page.select_option("[data-filter=outcome]", "")
        assert seen.page.url.endswith("#view=claims")


def test_headings_sort_both_ways(browser: Browser, index: str) -> None:
    with visit(browser, index) as seen:
        heading = seen.page.locator("#videos thead th", has_text=re.compile("^Video"))
        heading.get_by_role("button").focus()
        seen.page.keyboard.press("Enter")
        assert heading.get_attribute("aria-sort") == "ascending"
        assert shown(seen, "videos") == [
            "A second talk",
            "A third talk",
            "Six things people believe",
        ]
        seen.page.keyboard.press("Enter")
        assert heading.get_attribute("aria-sort") == "descending"
        claims = seen.page.locator("#videos thead th", has_text="Claims")
        claims.get_by_role("button").click()
        assert shown(seen, "videos")[0] == "A third talk"
        assert heading.get_attribute("aria-sort") is None


def test_a_claim_links_its_card_by_id_or_number(browser: Browser) -> None:
    claims = [samples.indexed_claim(0), samples.indexed_claim(1, claim_id="<odd>")]
    data = samples.index([samples.indexed(claims=claims)])
    page = render_index(data, {samples.VIDEO_ID: "one.html"})
    with visit(browser, page, fragment="#view=claims") as seen:
        links = seen.page.locator("#claims tbody a")
        found = [link.get_attribute("href") for link in links.all()]
        assert found == [f"one.html#claim-{claim_id(0)[:5]}", "one.html#claim-n2"]


def test_long_tables_are_turned_page_by_page(browser: Browser) -> None:
    many = [samples.indexed(title=f"Talk {n:03}", video_id=f"talk-{n}") for n in range(120)]
    with visit(
        browser, render_index(samples.index(many), {}), fragment="#view=claims&page=2"
    ) as seen:
        seen.page.get_by_text("51–100 of 720").wait_for()
        seen.page.click("#show-videos")
        assert shown(seen, "videos")[0] == "Talk 000"
        seen.page.get_by_role("button", name="Next").click()
        assert shown(seen, "videos")[0] == "Talk 050"
        seen.page.get_by_role("button", name="Next").click()
        assert len(shown(seen, "videos")) == 20
        assert seen.page.get_by_role("button", name="Next").is_disabled()
        assert seen.page.url.endswith("#page=3")
        seen.page.locator("#videos thead button").first.click()
        seen.page.locator("#videos thead button").first.click()
        assert shown(seen, "videos")[0] == "Talk 119"


def test_filters_of_an_index_from_disk_work(browser: Browser, index: str, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(index, "utf-8")
    (tmp_path / "two.html").write_text("<!DOCTYPE html><title>two</title>", "utf-8")
    with visit(browser, index) as seen:
        seen.page.goto((tmp_path / "index.html").as_uri())
        seen.page.select_option("[data-filter=channel]", "Other")
        assert shown(seen, "videos") == ["A second talk"]
        assert seen.page.url.endswith("#channel=Other")
        seen.page.get_by_role("link", name="A second talk").click()
        assert seen.page.title() == "two"
