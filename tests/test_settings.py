from __future__ import annotations

import re
from pathlib import Path
from unittest.mock import Mock

import pytest
from pydantic import SecretStr

from factible_assets.runs.instance import prepare_instance, serve_ui
from factible_assets.settings import RESTRICTED, Settings, SettingsError, load_settings, variable

EXAMPLE = Path(__file__).resolve().parent.parent / ".env.example"


@pytest.fixture(autouse=True)
def _a_machine_without_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(variable(name), raising=False)
    monkeypatch.chdir(tmp_path)


def test_without_settings_the_data_folder_lies_in_the_working_directory(tmp_path: Path) -> None:
    assert load_settings().home == tmp_path / "data"


def test_the_data_folder_lies_beside_the_nearest_workspace(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    deep = tmp_path / "project" / "a" / "b"
    deep.mkdir(parents=True)
    (tmp_path / "project" / "workspace.yaml").touch()
    monkeypatch.chdir(deep)
    assert load_settings().home == tmp_path / "project" / "data"


def test_the_data_folder_can_be_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FACTIBLE_HOME", "elsewhere")
    settings = load_settings()
    assert settings.home == tmp_path / "elsewhere"
    assert settings.warehouse.path == tmp_path / "elsewhere" / "warehouse.duckdb"
    assert settings.home_corpora in settings.corpus_folders


def test_a_dotenv_beside_the_workspace_counts_in_its_folders(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "workspace.yaml").touch()
    (tmp_path / ".env").write_text("FACTIBLE_WEB=archive\n")
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path / "a")
    assert load_settings().web == "archive"


def test_the_environment_wins_over_dotenv(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("FACTIBLE_WEB=archive\n")
    monkeypatch.setenv("FACTIBLE_WEB", "archive:mine")
    assert load_settings().web == "archive:mine"


def test_an_empty_variable_is_no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERPER_API_KEY", "")
    assert load_settings().serper_api_key is None


def test_a_key_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary-key")
    settings = load_settings()
    assert "canary-key" not in f"{settings!r} {settings}"
    assert "canary-key" not in f"{settings.openai_api_key}"


def test_an_unwritable_data_folder_gets_a_remedy(tmp_path: Path) -> None:
    blocked = tmp_path / "a-link"
    blocked.symlink_to(tmp_path / "nowhere")
    with pytest.raises(SettingsError, match=r"a-link is not writable.*FACTIBLE_HOME"):
        Settings(home=blocked).ensure_home()


@pytest.mark.parametrize("home", ["a-file", "a-file/data", "/dev/null"])
def test_a_file_as_data_folder_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, home: str
) -> None:
    (tmp_path / "a-file").touch()
    monkeypatch.setenv("FACTIBLE_HOME", str(tmp_path / home))
    with pytest.raises(SettingsError, match=r"FACTIBLE_HOME cannot be used: .* is not a folder"):
        load_settings()


def test_the_data_folder_is_made_when_it_is_needed(tmp_path: Path) -> None:
    home = Settings(home=tmp_path / "a" / "b").ensure_home()
    assert home.is_dir()
    assert list(home.iterdir()) == []


def test_every_variable_is_described_in_the_example() -> None:
    blocks = EXAMPLE.read_text(encoding="utf-8").split("\n\n")
    marked = {
        name: "[!]" in block
        for block in blocks
        for name in re.findall(r"^#([A-Z_]+)=", block, re.MULTILINE)
    }
    assert marked.keys() == {variable(name) for name in Settings.model_fields}
    for name, field in Settings.model_fields.items():
        assert marked[variable(name)] or RESTRICTED not in field.metadata


def test_lists_and_pairs_are_written_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FACTIBLE_SEARCH", "serper, wikipedia")
    monkeypatch.setenv("FACTIBLE_LANGUAGES", "de,en")
    monkeypatch.setenv("FACTIBLE_ENDPOINTS", "serper=https://a.example/s youtube=http://b.example")
    monkeypatch.setenv("FACTIBLE_HOSTS", "*.intranet.example=10.0.0.5:80")
    settings = load_settings()
    assert settings.search == ("serper", "wikipedia")
    assert settings.languages == ("de", "en")
    assert settings.endpoints == {"serper": "https://a.example/s", "youtube": "http://b.example"}
    assert settings.hosts == {"*.intranet.example": ("10.0.0.5", 80)}


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("FACTIBLE_HOME", "~nobodyx/x", "there is no user with the name after ~; write the whole"),
        ("FACTIBLE_PROMPT_FILES", "~nobodyx/x", "there is no user"),
        ("FACTIBLE_WEB", "moon", "web is one of auto"),
        ("FACTIBLE_HOSTS", "a.example=nowhere", "write the address as HOST:PORT"),
        ("FACTIBLE_ENDPOINTS", "serper=nowhere", "write an address such as https://"),
        ("FACTIBLE_RECHECK_LIMITS", f"videos={'9' * 30}", "videos: it should be less"),
        ("FACTIBLE_RECHECK_LIMITS", "cost=1", "its names are videos, cost_usd, min_age_days"),
        ("FACTIBLE_STAGE_MODELS", "verdict=gpt-5", "its names are claims, queries"),
        ("FACTIBLE_REASONERS", "evidence=labels", "its names are claims_by, queries_by"),
        ("FACTIBLE_SEARCH", "serper,bing", ""),
        ("FACTIBLE_ENDPOINTS", "serper", ""),
        ("FACTIBLE_ENDPOINTS", "unknown=http://a.example", ""),
        ("FACTIBLE_ENDPOINTS", "serper=ftp://a.example", ""),
        ("FACTIBLE_HOSTS", "wiki.example=10.0.0.5", ""),
        ("FACTIBLE_LANGUAGES", ",", "name a language first"),
        ("FACTIBLE_LANGUAGES", "translated", "name a language first"),
        ("FACTIBLE_CACHING", "sometimes", "write true or false"),
        ("FACTIBLE_MODEL_API_KEYS", "canary-4711", ""),
        ("FACTIBLE_BUDGET_USD", "run=-1", ""),
        ("FACTIBLE_BUDGET_USD", "video=inf", ""),
        ("FACTIBLE_PAGES", "canary-4711", ""),
        ("OPENAI_BASE_URL", "canary-4711", ""),
        ("OLLAMA_HOST", "localhost:canary", "write an address such as"),
        ("OLLAMA_HOST", "http://[canary", "write an address such as"),
        ("OPENAI_BASE_URL", "http://user:canary@127.0.0.1:8888", ""),
        ("FACTIBLE_SEARXNG_URL", "127.0.0.1:8888", ""),
        ("FACTIBLE_SEARXNG_URL", "http://[x", ""),
        ("FACTIBLE_SEARXNG_URL", "http://user:canary/4711@127.0.0.1", ""),
        ("FACTIBLE_SEARXNG_URL", "http://user:canary@127.0.0.1", ""),
        ("FACTIBLE_ENDPOINTS", "serper=http://user:canary@127.0.0.1", ""),
        ("FACTIBLE_HOSTS", "a.example=b.example:99999", ""),
        ("FACTIBLE_HOSTS", "a.example=b.example:" + "9" * 5000, ""),
        ("FACTIBLE_RETENTION_DAYS", "99999999", ""),
    ],
)
def test_an_invalid_value_is_named_by_its_variable_and_not_repeated(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, words: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(SettingsError, match=rf"{variable} cannot be used: {words}") as refused:
        load_settings()
    assert "canary" not in f"{refused.value} {refused.value.__cause__}"
    assert ".env.example" in str(refused.value)


def test_without_caching_nothing_of_a_search_a_page_or_an_answer_is_kept(tmp_path: Path) -> None:
    policy = Settings(home=tmp_path, caching=False).cache_policy
    assert not any(
        (policy.search, policy.pages, policy.unavailable_pages, policy.kept_pages, policy.models)
    )


def test_a_data_folder_that_is_given_wins_over_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FACTIBLE_HOME", "elsewhere")
    assert load_settings(tmp_path / "here").home == tmp_path / "here"


# --- The .env of a working folder -----------------------------------------------------------------


def test_a_dotenv_sets_keys_and_plain_values(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shown = EXAMPLE.read_text(encoding="utf-8")
    keys = re.sub(r"^#([A-Z_]+_API_KEY)=$", r"\1=a-key", shown, flags=re.MULTILINE)
    (tmp_path / ".env").write_text(f"{keys}\nfactible_web=archive\n", encoding="utf-8-sig")
    settings = load_settings()
    assert settings.openai_api_key is not None
    assert settings.jina_api_key is not None
    assert settings.web == "archive"
    assert caplog.messages == []


@pytest.mark.parametrize(
    "line",
    [
        "OPENAI_BASE_URL=http://evil.example/v1",
        "OLLAMA_HOST=evil.example",
        "FACTIBLE_SEARXNG_URL=http://evil.example",
        "FACTIBLE_ENDPOINTS=serper=http://evil.example",
        "FACTIBLE_BROWSER=/srv/evil",
        "factible_browser=/srv/evil",
        "FACTIBLE_YOUTUBE_PROXY=http://evil.example:1",
        "FACTIBLE_HOSTS=*.org=10.0.0.1:80",
        "FACTIBLE_NOTIFY_URL=http://evil.example",
        "FACTIBLE_SERVE_TOKEN=known-to-whoever-wrote-this",
        "FACTIBLE_SERVE_ORIGINS=https://evil.example",
        "FACTIBLE_HOME=/srv/evil",
        "FACTIBLE_RECHECK_SCHEDULE=on",
        "FACTIBLE_RECHECK_LIMITS=cost_usd=1000",
        "FACTIBLE_RETENTION_DAYS=1",
    ],
)
@pytest.mark.parametrize("folder", [".", "data"])
def test_a_working_folder_sets_no_address_program_schedule_or_deletion(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, line: str, folder: str
) -> None:
    (tmp_path / folder).mkdir(exist_ok=True)
    (tmp_path / folder / ".env").write_text(f"SERPER_API_KEY=mine\n{line}\n")
    unset = Settings(home=tmp_path / "data", serper_api_key=SecretStr("mine"))
    for given in (None, tmp_path / "data"):
        assert load_settings(given) == unset
    (sentence,) = caplog.messages
    assert line.partition("=")[0].upper() in sentence
    assert "evil" not in sentence


def test_a_warning_names_the_variables_that_were_left_out_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".env").write_text(
        "OPENAI_BASE_URL=http://a.example\nOLLAMA_HOST=b\nFACTIBLE_BROWSER=/srv/b\n"
    )
    monkeypatch.setenv("OLLAMA_HOST", "mine.example")
    load_settings()
    assert load_settings().ollama_host == "http://mine.example:11434"
    (sentence,) = caplog.messages
    assert "left out OPENAI_BASE_URL, FACTIBLE_BROWSER." in sentence
    assert "FACTIBLE_HOME" in sentence


def test_the_dotenv_of_a_named_data_folder_sets_everything_and_wins_over_working_folders(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / ".env").write_text("OPENAI_BASE_URL=http://evil.example\nFACTIBLE_WEB=archive\n")
    (home / ".env").write_text("OPENAI_BASE_URL=http://mine.example\nFACTIBLE_WEB=live\n")
    monkeypatch.setenv("FACTIBLE_HOME", "home")
    settings = load_settings()
    assert (settings.openai_base_url, settings.web) == ("http://mine.example", "live")
    assert caplog.messages == []
    monkeypatch.setenv("FACTIBLE_WEB", "miniature")
    assert load_settings().web == "miniature"


def test_files_that_name_code_count_only_in_a_data_folder_that_the_user_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "data"
    models, dagster = home / "models.yaml", home / "dagster" / "dagster.yaml"
    dagster.parent.mkdir(parents=True)
    models.write_text("providers: []\n")
    dagster.write_text("run_launcher: {module: evil, class: Evil}\n")
    (home / ".env").touch()
    for given in (None, home):
        with pytest.raises(SettingsError, match=r"models\.yaml.*FACTIBLE_HOME="):
            load_settings(given).own_file("models.yaml")
        with pytest.raises(SettingsError, match=r"dagster\.yaml.*FACTIBLE_HOME="):
            prepare_instance(load_settings(given))
        models.rename(home / "aside")
        with pytest.raises(SettingsError, match=r"\.env .*FACTIBLE_HOME="):
            serve_ui(load_settings(given), host="127.0.0.1", port=3000)
        (home / "aside").rename(models)
    monkeypatch.setenv("FACTIBLE_HOME", str(home))
    assert load_settings().own_file("models.yaml") == models
    prepare_instance(load_settings())


def test_nothing_is_written_through_a_link_of_a_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, theirs = tmp_path / "mine", tmp_path / "data" / "dagster"
    mine.write_text("precious")
    theirs.mkdir(parents=True)
    (theirs / "workspace.yaml").symlink_to(mine)
    (theirs / "dagster.yaml").symlink_to(tmp_path / "new")
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr("os.execve", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        serve_ui(load_settings(), host="127.0.0.1", port=3000)
    assert mine.read_text() == "precious"
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_a_dotenv_in_another_encoding_is_named_with_its_line(tmp_path: Path, encoding: str) -> None:
    (tmp_path / ".env").write_text("FACTIBLE_WEB=live\nFACTIBLE_REVIEWER=José\n", encoding)
    line = {"utf-16": 1, "latin-1": 2}[encoding]
    with pytest.raises(SettingsError, match=rf"\.env:{line}: .*UTF-8"):
        load_settings()


@pytest.mark.parametrize("line", ['FACTIBLE_WEB="archive', "set FACTIBLE_WEB archive"])
def test_a_line_without_a_name_and_a_value_is_left_out_with_a_warning(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text(f"FACTIBLE_REVIEWER=ada\n{line}\n")
    settings = load_settings()
    assert (settings.reviewer, settings.web) == ("ada", "auto")
    assert "statement starting at line 2" in caplog.text


def test_a_dotenv_cannot_name_a_key_of_the_environment_as_its_own_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary-key")
    dotenv = tmp_path / ".env"
    dotenv.write_text("FACTIBLE_REVIEWER=${OPENAI_API_KEY}\n")
    assert load_settings().reviewer == "${OPENAI_API_KEY}"


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:11434"),
        ("0.0.0.0:11500", "http://127.0.0.1:11500"),
        (":11500", "http://127.0.0.1:11500"),
        ("https://ollama.example/api-gate/", "https://ollama.example:443/api-gate"),
        ("http://[::1]:11434", "http://[::1]:11434"),
    ],
)
def test_ollamas_own_variable_may_hold_a_host_alone(written: str, url: str) -> None:
    assert Settings(ollama_host=written).ollama_host == url
