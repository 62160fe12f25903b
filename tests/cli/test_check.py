from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from factible_assets.cli.check import _show, as_document
from factible_assets.cli.output import as_json
from factible_assets.config import FactCheckConfig, run_options
from factible_assets.corpora.reading import load_corpora
from factible_assets.errors import ExitCode, FactibleError
from factible_assets.runs.result import StoredVideo
from factible_assets.runs.targets import enlist, resolve
from factible_assets.services.reasoning import Choices
from factible_assets.services.search import default_remarks
from factible_assets.settings import EXAMPLE, Settings, load_settings
from factible_assets.wording import balance_words
from resources.files import file_stem, slug, write_whole
from resources.transcripts.youtube_ids import bare_id
from tests.cli.conftest import Run
from tests.cli.stored import VIDEO_ID, store_failed_recheck, store_sample
from tests.cli.test_corpus import VTT, talk
from tests.report import samples
from warehouse.errors import NoRoomError
from warehouse.store import Warehouse


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("nothing-here", "No corpus lists a video nothing-here"),
        ("everyday-belief-talk", "Did you mean 'everyday-beliefs-talk'?"),
        (" ", "is empty. Give a YouTube link"),
        ("/", "/ is a folder. Give a transcript file"),
        ("missing.vtt", "There is no file missing.vtt"),
        ("folder/missing", "There is no file folder/missing"),
        ("https://a.example/film", "'https://a.example/film' is not a YouTube link"),
        ("https://www.youtube.com/@someone", "names a channel"),
        (f"https://youtu.be/{VIDEO_ID} https://youtu.be/{VIDEO_ID}", "more than one link"),
        (f"https://youtu.be/{VIDEO_ID}https://youtu.be/{VIDEO_ID}", "more than one link"),
        ("\x1b[31mred", "[31mred"),
    ],
)
def test_an_unusable_target_gets_a_sentence_and_creates_nothing(
    factible: Run, home: Path, target: str, words: str
) -> None:
    result = factible("check", "--", target)
    assert result.exit_code == 4
    assert words in result.stderr
    assert result.stdout == ""
    assert "\x1b" not in result.stderr
    assert not home.exists()


@pytest.mark.parametrize(
    "pasted",
    [
        "{}",
        "youtube.com/watch?v={}",
        "https://m.youtube.com/shorts/{}",
        "https://youtu.be/{}.",
        "(https://www.youtube.com/watch?v={})",
        "<https://youtu.be/{}>,",
        "https://www.youtube.com/watch?v={}?t=5",
        "https://youtu.be/{}?si=abc?t=5",
        "\u200bhttps://youtu.be/{}\u200b",
    ],
)
def test_a_video_id_is_read_from_a_pasted_link(pasted: str) -> None:
    assert bare_id(pasted.format("-LDjqcvSbP4")) == "-LDjqcvSbP4"


@pytest.mark.parametrize("target", [VIDEO_ID, f"https://youtu.be/{VIDEO_ID}", "-LDjqcvSbP4"])
def test_a_youtube_video_that_no_corpus_lists_can_be_checked(tmp_path: Path, target: str) -> None:
    settings = Settings(home=tmp_path / "home")
    assert resolve(target, None, settings).video_id == bare_id(target)
    assert not settings.home.exists()


def test_mixed_sources_are_counted_beside_the_others() -> None:
    one = samples.verdict(0, "mixed", supporting=1, refuting=0, mixed=2)
    assert balance_words(one) == "1 : 0 (2 both)"
    assert balance_words(one.model_copy(update={"mixed": 0})) == "1 : 0"


@pytest.mark.parametrize("content", ["", "WEBVTT\n", "\x00\x01\x02binary"])
def test_a_file_without_a_transcript_gets_a_sentence_and_creates_nothing(
    factible: Run, home: Path, tmp_path: Path, content: str
) -> None:
    file = tmp_path / "talk.vtt"
    file.write_text(content, encoding="utf-8")
    result = factible("check", file)
    assert result.exit_code == 4
    assert str(file) in result.stderr
    assert not home.exists()


def test_a_title_belongs_to_a_transcript_file(factible: Run) -> None:
    result = factible("check", "everyday-beliefs-talk", "--title", "Mine")
    assert result.exit_code == 2
    assert "--title" in result.stderr


def test_pages_exclude_another_web_and_a_rating_of_pages_needs_them(factible: Run) -> None:
    assert factible("check", "x", "--pages", "p", "--web", "live").exit_code == 2
    assert factible("check", "x", "--pages-rating", "high").exit_code == 2


def test_a_missing_folder_of_pages_gets_a_sentence(factible: Run, tmp_path: Path) -> None:
    result = factible("check", talk(tmp_path), "--pages", "nowhere")
    assert result.exit_code == 4
    assert "There is no folder nowhere" in result.stderr


def test_a_transcript_file_becomes_a_listed_video_with_its_words_copied(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home")
    file = talk(tmp_path)
    target = resolve(str(file), None, settings)
    assert not settings.home.exists()
    assert enlist(target, settings, "archive:mine") is not None
    listed = load_corpora(settings.corpus_folders).find(target.video_id)
    assert listed is not None
    assert listed.video.title == "talk"
    assert listed.web == "archive:mine"
    assert listed.transcript is not None
    assert listed.transcript.read_text(encoding="utf-8") == VTT
    assert listed.transcript.is_relative_to(settings.home)


def test_the_same_file_is_the_same_video_and_is_listed_once(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home")
    file = talk(tmp_path)
    first = resolve(str(file), "A talk", settings)
    enlist(first, settings, None)
    again = resolve(str(file), None, settings)
    assert again.video_id == first.video_id
    assert first.video_id.startswith("a-talk-"), "its partition says what it is"
    assert enlist(again, settings, None) is None
    assert enlist(first, settings, None) is None, "another process may have been first"
    listed = [each.video.video_id for each in load_corpora(settings.corpus_folders).videos()]
    assert listed.count(first.video_id) == 1
    with pytest.raises(FactibleError, match="is listed with the title 'A talk'"):
        resolve(str(file), "Another title", settings)


def test_another_content_is_another_video(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home")
    file = talk(tmp_path)
    first = resolve(str(file), None, settings).video_id
    file.write_text(VTT.replace("years", "weeks"), encoding="utf-8")
    assert resolve(str(file), None, settings).video_id != first
    assert len(first) > 11


def test_a_stored_check_is_a_json_document_in_order_of_time(home: Path) -> None:
    store_sample(home)
    checked = StoredVideo(VIDEO_ID, Settings(home=home)).result()
    assert checked is not None
    document = json.loads(json.dumps(as_document(checked), default=as_json))
    assert [claim["start_seconds"] for claim in document["claims"]] == [0, 10, 20, 30, 40]
    assert document["claims"][1]["verdict"]["stance"] == "refutes"
    assert document["claims"][4]["verdict"]["stance"] is None
    assert document["checked_at"] == "2026-01-02T03:04:00+00:00"
    assert document["exit_code"] == ExitCode.INCOMPLETE
    assert Path(document["report"]).is_file()


def test_a_check_with_incomplete_verdicts_is_not_finished(home: Path) -> None:
    settings = Settings(home=home)
    store_sample(home)
    unfinished = StoredVideo(VIDEO_ID, settings).result()
    store_sample(home, ("supports", "refutes"))
    finished = StoredVideo(VIDEO_ID, settings).result()
    assert unfinished is not None
    assert not unfinished.data.is_finished
    assert finished is not None
    assert finished.data.is_finished
    assert finished.code is ExitCode.DONE


def test_a_failed_recheck_beside_a_good_verdict_leaves_the_check_incomplete(home: Path) -> None:
    store_failed_recheck(store_sample(home, ("supports", "refutes")))
    checked = StoredVideo(VIDEO_ID, Settings(home=home)).result()
    assert checked is not None
    assert checked.data.verdict_of[checked.data.claims_by_time[0].claim_id].stance == "supports"
    assert not checked.data.is_finished
    assert checked.code is ExitCode.INCOMPLETE


def test_the_reasons_of_incomplete_verdicts_are_listed(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store_sample(home)
    checked = StoredVideo(VIDEO_ID, Settings(home=home)).result()
    assert checked is not None
    _show(checked)
    (why,) = {each.reason for each in checked.data.verdicts if each.status == "incomplete"}
    said = capsys.readouterr().err
    assert "Some verdicts are incomplete because services failed" in said
    assert f"1 verdict: {why}" in said


def test_a_complete_check_is_shown_without_a_new_run(
    factible: Run, home: Path, tmp_path: Path
) -> None:
    store_sample(home, ("supports", "refutes"))
    factible("corpus", "add", VIDEO_ID, "--transcript", talk(tmp_path))
    result = factible("check", VIDEO_ID, "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["video_id"] == VIDEO_ID
    assert "Checked before, on 2026-01-02 03:04 UTC" in result.stderr
    table = factible("check", VIDEO_ID)
    assert "leaning refuted" in table.stdout
    assert "report: file:///" in table.stdout, "an address that opens"


def test_a_check_that_found_no_claim_says_so_instead_of_an_empty_table(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store_sample(home, ())
    checked = StoredVideo(VIDEO_ID, Settings(home=home)).result()
    assert checked is not None
    _show(checked)
    shown = capsys.readouterr().out
    assert "The transcript has no claim that can be checked." in shown
    assert "confidence" not in shown
    assert "no model was asked" in shown
    failed = replace(checked, data=replace(checked.data, sets={}), failures=("claims: no answer",))
    _show(failed)
    assert "no model was asked" in capsys.readouterr().out, "the embedded engine costs nothing"
    choices = Choices(claims="llm", queries="llm", evidence="llm", verdicts="template")
    _show(failed, choices)
    shown = capsys.readouterr().out
    assert "no model was asked" not in shown, "it may have been, and been paid"
    assert "Its claims are not known yet." in shown
    assert "No claim that can be checked" not in shown, "what failed to be listed is no finding"


def test_after_a_failure_the_screen_says_that_its_verdicts_are_the_stored_ones(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store_sample(home, ("supports",))
    checked = StoredVideo(VIDEO_ID, Settings(home=home)).result()
    assert checked is not None
    for failures, told in (((), False), (("claims: no answer",), True)):
        _show(replace(checked, failures=failures))
        assert (
            "The check failed. These are the stored verdicts." in capsys.readouterr().err
        ) is told


def test_names_made_of_hostile_ids_stay_in_their_folder() -> None:
    assert file_stem("-LDjqcvSbP4") == "-LDjqcvSbP4"
    assert "/" not in file_stem("../../etc/passwd")
    assert file_stem("a/b") != file_stem("a:b")
    assert slug("Ünïcode & Co.") == "n-code-co"
    assert slug("???") == "untitled"


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "file.txt"
    assert write_whole(target, b"one").read_bytes() == b"one"
    blocked = tmp_path / "folder"
    blocked.mkdir()
    (blocked / "inside").touch()
    with pytest.raises(OSError, match="folder") as refused:
        write_whole(blocked, b"two")
    assert (refused.value.filename, refused.value.filename2) == (str(blocked), None)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deep", "folder"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--exclude-domains", "https://x"), "--exclude-domains 'https://x' cannot be used: "),
        (("--language", "english"), "--language 'english' cannot be used: write it as a code"),
        (("--published-before", "today"), "'today' cannot be used: write a day as 2026-01-31."),
        (
            ("--published-after", "2024-01-01", "--published-before", "2020-01-01"),
            "it leaves no day before 2020-01-01",
        ),
    ],
)
def test_an_invalid_limit_is_refused_by_the_name_of_its_option(
    factible: Run, options: tuple[str, ...], words: str
) -> None:
    result = factible("check", "everyday-beliefs-talk", *options)
    assert result.exit_code == 2
    assert words in result.stderr
    assert "Value error" not in result.stderr


def test_a_failed_run_prints_the_sentence_without_its_cause(
    factible: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise NoRoomError(Path("w.duckdb")) from OSError("IO Error: Could not write file")

    monkeypatch.setattr(Warehouse, "write_assets", full)
    words = factible("check", "everyday-beliefs-talk").stderr
    assert "failed: transcripts: There is no room left to write w.duckdb;" in words
    assert "IO Error" not in words


def test_missing_keys_are_named_in_one_line(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "SERPER_API_KEY", "FACTIBLE_WEB"):
        monkeypatch.delenv(name, raising=False)
    settings = Settings(home=home)
    words = default_remarks(settings, FactCheckConfig(), None)
    assert "\n" not in words
    assert "OPENAI_API_KEY" in words
    assert "SERPER_API_KEY" in words
    # The demo's corpus names its web, and a named reasoner needs no hint.
    config = FactCheckConfig(reasoner="embedded")
    assert default_remarks(settings, config, "miniature") == ""


def test_an_unknown_setting_is_named_with_the_nearest_one(
    factible: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "no setting" not in factible("check", "nothing-here").stderr
    monkeypatch.setenv("FACTIBLE_MODLE", "gpt-6-luna")
    monkeypatch.setenv("FACTIBLE_DEBUG", "")
    monkeypatch.setenv("FACTIBLE_WHOIS", "off")
    monkeypatch.setenv("WEBSHARE_PROXY_USERNAME", "me")
    monkeypatch.setenv("factible_web", "live")
    Path(".env").write_text("FACTIBLE_WEBB=live\nPYTHONPATH=/\n", "utf-8")
    words = (
        "'FACTIBLE_MODLE' is no setting. Did you mean 'FACTIBLE_MODEL'? "
        "'FACTIBLE_WEBB' is no setting. Did you mean 'FACTIBLE_WEB'? "
        f"'FACTIBLE_WHOIS' is no setting. See {EXAMPLE}. "
        f"'WEBSHARE_PROXY_USERNAME' is no setting. See {EXAMPLE}. "
        "'factible_web' is no setting. Did you mean 'FACTIBLE_WEB'? "
    )
    settings = load_settings()
    assert words in default_remarks(settings, FactCheckConfig(), None)
    finding = json.loads(factible("doctor", "--json").stdout)[0]
    assert (finding["service"], finding["state"]) == ("settings", "unknown")
    assert finding["sentence"] == words.strip()


def test_help_shows_the_common_options_on_two_screens_and_help_all_every_one(factible: Run) -> None:
    short = factible("check", "--help").stdout
    assert len(short.splitlines()) <= 100
    assert "--max-claims" in short
    assert "--min-margin" not in short
    told = " ".join(factible("check", "--help-all").stdout.split())
    for name in run_options():
        assert f"--{name.replace('_', '-')} " in told
    assert "Below this margin the vote abstains. From 0.0 to 1.0. Default: 0.2." in told
    again = factible("recheck", "--help-all").stdout
    assert "--min-margin" in again
    assert "--max-claims" not in again, "the claims of a re-check are those that are there"
    refused = factible("check", "everyday-beliefs-talk", "--min-margin", "7")
    assert refused.exit_code == 2
    assert "--min-margin 7.0 cannot be used" in refused.stderr
