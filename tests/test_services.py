"""The choice of services by settings, keys and options, and the errors without them."""

import json
import logging
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import Any, get_args

import dagster as dg
import pytest
from pydantic import SecretStr

from factible_assets.config import FactCheckConfig, Reasoners, SearchConfig
from factible_assets.corpora.reading import CorporaReading, load_corpora
from factible_assets.pipeline.assets.transcripts import listed_video, with_details
from factible_assets.pipeline.launchpad import run_config_for
from factible_assets.pipeline.resources import FactCheckServices, RunContext
from factible_assets.records.tables import Video
from factible_assets.runs.result import StoredVideo
from factible_assets.runs.reusable import input_tags
from factible_assets.services import reasoning
from factible_assets.services.labels import ReadingModel
from factible_assets.services.models import (
    DEFAULT_MODEL,
    JUDGEMENTS,
    RunBudgets,
    plan_models,
    stage_model,
)
from factible_assets.services.ratings import CollectionRatings, rating_directory, rating_files
from factible_assets.services.reasoning import Choices, choose_reasoners, open_models
from factible_assets.services.search import PROVIDERS, default_remarks, search_names, search_remark
from factible_assets.services.web import (
    OpenWeb,
    browser_executable,
    choose_web,
    open_web,
    youtube_transcripts,
)
from factible_assets.settings import Endpoint, SearchProvider, Settings, variable
from factible_assets.stages.ports import Observer, ReasonerOutageError, Services
from factible_assets.stages.reliability import rate
from resources.errors import SetupError
from resources.llm import backend
from resources.llm.backend import Batching
from resources.llm.limits import Budget, Ceiling
from resources.pages.base import FetchedPage
from resources.search.base import SearchRequest
from resources.storage.answers import DiskCache
from resources.storage.archive import Archive
from resources.transcripts.base import VideoDetails
from tests.reasoners.llm.scripted import ScriptedModel
from tests.reasoners.material import CLAIM, PAGE, QUERY, VIDEO
from tests.resources.llm import batches
from tests.resources.llm.servers import CANARY as CANARY_KEY
from tests.resources.llm.servers import CHAT, openai_answer
from tests.servers import MisbehavingServer, respond, respond_json

EXAMPLE = (Path(__file__).parents[1] / ".env.example").read_text(encoding="utf-8")
CANARY = "canary-wrong-ü-4f1d"


@pytest.fixture(autouse=True)
def _a_machine_without_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for field in Settings.model_fields.values():
        if isinstance(field.validation_alias, str):
            monkeypatch.delenv(field.validation_alias, raising=False)
    for name in Settings.model_fields:
        monkeypatch.delenv(f"FACTIBLE_{name.upper()}", raising=False)
    monkeypatch.chdir(tmp_path)


def settings(tmp_path: Path, **given: Any) -> Settings:
    return Settings(home=tmp_path / "home", **given)


# --- The web ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "live_ready", "chosen"),
    [
        (("miniature", "archive", "live"), True, "miniature"),
        (("auto", "archive:talks", "live"), True, "archive:talks"),
        (("auto", None, "archive"), True, "archive"),
        (("auto", "auto", "auto"), True, "live"),
        (("auto", None, "auto"), False, "archive"),
        (("live",), False, "live"),
    ],
)
def test_the_first_option_decides_on_the_web(
    options: tuple[str | None, ...], live_ready: bool, chosen: str
) -> None:
    assert choose_web(*options, live_ready=live_ready) == chosen


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({}, ()),
        ({"serper_api_key": "k"}, ("serper",)),
        (
            {"semantic_scholar_api_key": "k", "searxng_url": "http://127.0.0.1:1"},
            ("searxng", "semantic_scholar"),
        ),
        ({"perplexity_api_key": "k"}, ()),
        ({"search": "wikipedia, serper", "serper_api_key": "k"}, ("serper", "wikipedia")),
        ({"search": "wikipedia", "serper_api_key": "k"}, ("wikipedia",)),
    ],
)
def test_keys_choose_the_providers_unless_a_setting_does(
    tmp_path: Path, given: dict[str, str], names: tuple[str, ...]
) -> None:
    assert search_names(settings(tmp_path, **given)) == names


@asynccontextmanager
async def live_web(made: Settings) -> AsyncIterator[OpenWeb]:
    async with AsyncExitStack() as stack:
        cache = DiskCache(made.cache, made.cache_policy)
        yield await open_web("live", made, stack, cache)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "SERPER_API_KEY"),
        ({"search": "searxng"}, "FACTIBLE_SEARXNG_URL is not set"),
        ({"search": "perplexity,serper", "serper_api_key": "k"}, "PERPLEXITY_API_KEY is not set"),
        ({"serper_api_key": CANARY}, "check SERPER_API_KEY"),
        (
            {"search": "wikipedia", "google_fact_check_api_key": CANARY},
            "check GOOGLE_FACT_CHECK_API_KEY",
        ),
    ],
)
async def test_a_live_web_that_is_not_set_up_is_refused_by_the_name_of_the_setting(
    tmp_path: Path, given: dict[str, str], words: str
) -> None:
    with pytest.raises(SetupError, match=words) as refused:
        async with live_web(settings(tmp_path, **given)):
            pass
    assert "canary" not in str(refused.value)


async def test_several_providers_answer_together_and_are_asked_the_same_only_once(
    tmp_path: Path, server: MisbehavingServer
) -> None:
    address = f"http://127.0.0.1:{server.port}"
    hit = {"url": "http://site.example/", "title": "A", "content": "B"}
    server.on("/searx/search", respond_json({"results": [hit]}))
    server.on("/search", respond("out", status=503))
    made = settings(
        tmp_path, searxng_url=f"{address}/searx", serper_api_key="k", endpoints=f"serper={address}"
    )
    for _ in range(2):
        async with live_web(made) as web:
            answers = await web.searcher.search(SearchRequest("sugar", limit=3))
            outcomes = {answer.provider: answer.outcome for answer in answers}
            assert outcomes == {"serper": "outage", "searxng": "ok"}
    # An answer is kept; an outage is not, and is asked again.
    assert server.count("/searx/search") == 1
    assert server.count("/search") > 2


async def test_a_page_never_reaches_a_service_that_the_settings_allow(
    tmp_path: Path, server: MisbehavingServer
) -> None:
    server.on("*", respond("<p>inside</p>"))
    address = f"http://127.0.0.1:{server.port}"
    made = settings(tmp_path, searxng_url=address, hosts=f"wiki.example=127.0.0.1:{server.port}")
    async with live_web(made) as web:
        inside = await web.fetcher.fetch(f"{address}/admin")
        assert (inside.outcome, inside.text) == ("unavailable", "")
        assert server.asked == []
        allowed = await web.fetcher.fetch("http://wiki.example/page")
    assert server.count("/page") == 1
    assert allowed.outcome != "outage"


def test_the_browser_can_be_switched_off_or_named(tmp_path: Path) -> None:
    pytest.importorskip("playwright", reason="The extra [browser] is not installed.")
    named = tmp_path / "my-browser"
    named.write_text("#!/bin/sh\n")
    named.chmod(0o755)
    assert browser_executable(settings(tmp_path, browser="off")) is None
    assert browser_executable(settings(tmp_path, browser=str(named))) == str(named)
    assert browser_executable(settings(tmp_path, browser=str(tmp_path / "none"))) is None


def test_the_rating_sets_of_the_home_follow_those_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "ratings").mkdir()
    for name in ("b.csv", "a.yaml"):
        (tmp_path / "ratings" / name).touch()
    names = [path.name for path in rating_files(Settings(home=tmp_path))]
    first, last = ["domain_ratings.yaml", "miniature_ratings.yaml"], ["credibility_tiers.yaml"]
    assert names == [*first, "a.yaml", "b.csv", *last]


def test_own_rating_sets_may_be_tables_of_two_kinds(tmp_path: Path) -> None:
    quality, named = tmp_path / "quality.csv", tmp_path / "mine.csv"
    quality.write_text("domain,pc1\ngood.org,0.9\n")
    named.write_text("domain,rating,class\nbad.org,Very Low,shop\n")
    directory = rating_directory([quality, named])
    assert [each.rating for each in directory.lookup("good.org")] == ["high"]
    (bad,) = directory.lookup("bad.org")
    assert (bad.rating, bad.source_class, bad.dataset) == ("very_low", "shop", "mine")
    named.write_text("site,stars\nbad.org,5\n")
    with pytest.raises(SetupError, match=r"mine\.csv"):
        rating_directory([named])


# --- The reasoner -------------------------------------------------------------------------------

NO_KEY: dict[str, str] = {}
A_KEY = {"openai_api_key": "k"}


def test_pages_of_a_collection_have_its_rating_unless_a_set_lists_them(tmp_path: Path) -> None:
    listed = tmp_path / "sets.csv"
    listed.write_text("domain,rating\ntabloid.example,low\n", encoding="utf-8")
    directory = CollectionRatings(rating_directory([listed]), "high")
    ratings = {
        name: rate("v", name, directory).rating
        for name in ("local-files.invalid", "someone.example", "tabloid.example", "nasa.gov")
    }
    assert ratings == {
        "local-files.invalid": "high",
        "someone.example": "high",
        "tabloid.example": "low",
        "nasa.gov": "high",
    }
    (rating,) = directory.lookup("local-files.invalid")
    assert rating.dataset == "yours"


@pytest.mark.parametrize(
    ("wish", "given", "kind", "remark"),
    [
        ("auto", NO_KEY, "embedded", "No language model is set up"),
        ("auto", A_KEY, "llm", None),
        ("auto", {"openai_base_url": "http://127.0.0.1:1/v1"}, "llm", None),
        ("auto", {"model": "ollama/qwen3:8b"}, "llm", None),
        ("auto", {"model": "qwen3:4b"}, "llm", None),
        ("auto", {"model": "gpt-4o"}, "embedded", "OPENAI_API_KEY is not set"),
        (
            "auto",
            {"model": "qwen3:4b", "stage_models": "verdicts=gpt-4o"},
            "embedded",
            "OPENAI_API_KEY",
        ),
        ("auto", {"ollama_host": "127.0.0.1"}, "embedded", "No language model is set up"),
        ("embedded", A_KEY, "embedded", None),
        ("llm", A_KEY, "llm", None),
    ],
)
def test_the_option_and_the_keys_choose_the_reasoner(
    tmp_path: Path, wish: str, given: dict[str, str], kind: str, remark: str | None
) -> None:
    options = Reasoners.model_validate({"reasoner": wish})
    choice = choose_reasoners(options, settings(tmp_path, **given))
    assert choice.asks_llm == (frozenset(JUDGEMENTS[:3]) if kind == "llm" else frozenset())
    assert (choice.remark is None) == (remark is None)
    assert (remark or "") in (choice.remark or "")


def test_a_model_that_reads_pages_is_named_until_one_was_pulled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = settings(tmp_path, **NO_KEY)
    assert "factible models pull reader" in (choose_reasoners(Reasoners(), made).remark or "")
    here = ReadingModel("small", "sha", made.home)
    monkeypatch.setattr(reasoning, "reading_model", lambda settings: here)
    monkeypatch.setattr(reasoning, "find_spec", lambda name: name)
    assert "models pull" not in (choose_reasoners(Reasoners(), made).remark or "")


def test_each_judgement_can_have_its_own_maker(tmp_path: Path) -> None:
    made = settings(tmp_path, **A_KEY)
    mixed = choose_reasoners(Reasoners(reasoner="llm", evidence_by="plain"), made)
    assert mixed.asks_llm == {"claims", "queries"}
    assert mixed.evidence == "plain"
    assert "pages read by plain rules" in mixed.words
    other = choose_reasoners(Reasoners(reasoner="embedded", verdicts_by="llm"), made)
    assert other.asks_llm == {"verdicts"}


def test_the_environment_names_makers_and_the_run_overrules_it(tmp_path: Path) -> None:
    made = settings(tmp_path, reasoners="evidence_by=llm", **A_KEY)
    assert choose_reasoners(Reasoners(claims_by="embedded"), made).evidence == "llm"
    assert choose_reasoners(Reasoners(evidence_by="plain"), made).evidence == "plain"
    assert choose_reasoners(Reasoners(reasoner="embedded"), made).evidence == "plain"


@pytest.mark.parametrize(
    ("reader", "remedy"), [("labels", "models pull reader"), ("entailment", "models pull nli")]
)
def test_a_missing_reader_is_refused_with_the_command_that_pulls_it(
    tmp_path: Path, reader: str, remedy: str
) -> None:
    options = Reasoners.model_validate({"evidence_by": reader})
    with pytest.raises(SetupError, match=remedy):
        choose_reasoners(options, settings(tmp_path, **NO_KEY))


async def test_no_other_reader_replaces_one_whose_model_disappeared(tmp_path: Path) -> None:
    gone = Choices(claims="embedded", queries="embedded", evidence="labels", verdicts="template")
    made, cache = settings(tmp_path, **NO_KEY), DiskCache(tmp_path)
    async with AsyncExitStack() as stack:
        with pytest.raises(SetupError, match="reads pages by the label probabilities"):
            await reasoning.open_reasoner(made, gone, stack, cache, Budget("this run", Ceiling()))


@pytest.mark.parametrize("given", [NO_KEY, {"model": "gpt-4-turbo"}])
def test_a_missing_language_model_is_refused_with_its_setting(
    tmp_path: Path, given: dict[str, str]
) -> None:
    with pytest.raises(SetupError, match="OPENAI_API_KEY is not set"):
        choose_reasoners(Reasoners(reasoner="llm"), settings(tmp_path, **given))


def test_an_unlisted_model_works_at_an_unknown_cost(tmp_path: Path) -> None:
    made = settings(tmp_path, model="gpt-4o-mimi", openai_api_key="k")
    choice = choose_reasoners(Reasoners(), made)
    assert choice.asks_llm == frozenset(JUDGEMENTS[:3])
    assert "gpt-4o-mimi" in (choice.remark or "")
    assert "did you mean 'gpt-4o-mini'?" in (choice.remark or "")
    assert "its calls have no cost" in (choice.remark or "")
    with pytest.raises(SetupError, match="did you mean 'gpt-4o-mini'"):
        choose_reasoners(Reasoners(), settings(tmp_path, model="gpt-4o-mimi"))


@pytest.mark.parametrize(
    ("base_url", "named", "meant"),
    [
        ("https://openrouter.ai/api/v1", "openai/gpt-4o-mini", "openai/gpt-4o-mini"),
        ("http://127.0.0.1:8000/v1", "openai/gpt-oss-20b", "openai/gpt-oss-20b"),
        ("https://api.openai.com/v1", "openai/gpt-5-mini", "gpt-5-mini"),
        (None, "openai/gpt-5-mini", "gpt-5-mini"),
        ("https://openrouter.ai/api/v1", "ollama/qwen3:4b", "qwen3:4b"),
    ],
)
def test_a_model_name_of_a_server_stays_whole(
    tmp_path: Path, base_url: str | None, named: str, meant: str
) -> None:
    made = settings(tmp_path, model=named, openai_api_key="k", openai_base_url=base_url)
    model = plan_models(made).stages["claims"]
    assert model.name == meant
    assert (model.price is None) == ("oss" in named)
    assert bool(model.efforts) == ("4o" not in named)


def test_a_stage_asks_its_model_with_the_effort_of_the_settings(tmp_path: Path) -> None:
    made = settings(tmp_path, reasoning_effort="high")
    model = stage_model(made, ScriptedModel([]), 900)
    assert (model.effort, model.max_tokens) == ("high", 900)
    assert "FACTIBLE_REASONING_EFFORT" in model.remedy


def test_each_stage_has_its_model(tmp_path: Path) -> None:
    made = settings(
        tmp_path, openai_api_key="k", stage_models="claims=gpt-4o evidence=ollama/llama4:8b"
    )
    plan = plan_models(made)
    named = {stage: (model.provider, model.name) for stage, model in plan.stages.items()}
    assert named == {
        "claims": ("openai", "gpt-4o"),
        "queries": ("openai", DEFAULT_MODEL),
        "evidence": ("ollama", "llama4:8b"),
        "verdicts": ("openai", DEFAULT_MODEL),
    }
    assert len(plan.models) == 3


def test_an_unlisted_model_belongs_to_the_server_of_the_settings(tmp_path: Path) -> None:
    base = "http://127.0.0.1:8000/v1"
    plan = plan_models(settings(tmp_path, openai_base_url=base, model="mistralai/Ministral-8B"))
    assert {model.name for model in plan.models} == {"mistralai/Ministral-8B"}
    assert {model.provider for model in plan.models} == {"openai"}


@pytest.mark.parametrize("name", PROVIDERS)
def test_settings_and_env_file_match_the_table_of_providers(name: str) -> None:
    provider = PROVIDERS[name]  # type: ignore[index]
    assert name in EXAMPLE
    assert provider.remedy
    if provider.setting is not None:
        assert f"#{variable(provider.setting)}=" in EXAMPLE
        assert variable(provider.setting) in provider.remedy
    if provider.client.address:
        assert name in get_args(Endpoint)


def test_the_table_has_every_search_provider_in_the_order_of_the_settings() -> None:
    assert tuple(PROVIDERS) == get_args(SearchProvider)
    sentence = re.search(r"The search providers: ([^.]*)\.", EXAMPLE)
    assert sentence is not None
    assert sentence[1].split(", ") == list(PROVIDERS)


def test_own_models_are_listed_in_the_data_folder(tmp_path: Path) -> None:
    made = settings(tmp_path, model="house-model")
    made.home.mkdir()
    (made.home / "models.yaml").write_text(
        'providers:\n  house: {protocol: openai, base_url: "http://127.0.0.1:9/v1"}\n'
        "models:\n  house-model: {provider: house, price: free}\n"
    )
    assert choose_reasoners(Reasoners(), made).evidence == "llm"
    (made.home / "models.yaml").write_text("models:\n  house-model: {provider: nobody}\n")
    with pytest.raises(SetupError, match=r"models\.yaml"):
        choose_reasoners(Reasoners(), made)


async def test_a_ceiling_stops_the_models_before_they_are_asked(
    tmp_path: Path, server: MisbehavingServer
) -> None:
    async with AsyncExitStack() as stack:
        made = settings(
            tmp_path,
            openai_api_key="k",
            openai_base_url=f"http://127.0.0.1:{server.port}/v1",
            budget_usd={"video": 0.0},
        )
        cache = DiskCache(made.cache)
        budget = RunBudgets().of("run", "v1", made)
        mind = await open_models(made, stack, cache, budget)
        with pytest.raises(ReasonerOutageError, match="video in FACTIBLE_BUDGET_USD"):
            await mind.read_evidence(VIDEO, CLAIM, QUERY, PAGE)
        assert server.count(CHAT["openai"]) == 0


async def test_only_a_recheck_uses_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: MisbehavingServer
) -> None:
    hasty = partial(Batching, gather_seconds=0.01, poll_seconds=0.01)
    monkeypatch.setattr(backend, "Batching", hasty)
    lines = {"OPENAI_API_KEY": CANARY_KEY, "FACTIBLE_RECHECK_LIMITS": "batch_hours=1"}
    for name, value in (lines | {"FACTIBLE_MODEL": batches.MODEL}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.port}/v1")
    answers = batches.BatchServer(server)
    silent = {"sentences": [], "summary": "", "stance": "silent", "confidence": 0, "relevance": 0}
    answer = openai_answer(json.dumps(silent), usage=batches.TOKENS)
    answers.outcome = lambda _: (200, answer)
    server.on(CHAT["openai"], respond_json(answer))
    rows = {}
    for renew in (True, False):
        run = RunContext("run", "v1", logging.getLogger("a test"))
        resource = FactCheckServices(home=str(tmp_path / str(renew)))
        async with resource.open(observer=Observer(), run=run, renew=renew) as services:
            judged = await services.reasoner.evidence.read_evidence(VIDEO, CLAIM, QUERY, PAGE)
            (rows[renew],) = judged.calls
    assert (rows[True].batched, rows[False].batched) == (True, False)
    assert rows[True].cost_usd == pytest.approx(rows[False].cost_usd / 2)
    assert rows[True].cost_usd == pytest.approx(answers.usd)


def test_the_steps_of_a_run_spend_from_one_budget(tmp_path: Path) -> None:
    budgets, made = RunBudgets(), settings(tmp_path)
    assert budgets.of("a", "v", made) is budgets.of("a", "v", made)
    assert budgets.of("a", "v", made) is not budgets.of("a", "w", made)
    assert budgets.of("a", "v", made) is not budgets.of("b", "v", made)


async def test_an_invalid_key_is_refused_and_not_shown(tmp_path: Path) -> None:
    made = settings(tmp_path, openai_api_key=CANARY)
    async with AsyncExitStack() as stack:
        with pytest.raises(SetupError, match="API key") as refused:
            await open_models(made, stack, DiskCache(made.cache), RunBudgets().of("r", "v", made))
    assert "canary" not in str(refused.value)


# --- The resource -------------------------------------------------------------------------------


@pytest.fixture
def run(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> RunContext:
    caplog.set_level(logging.INFO)
    return RunContext(f"run of {tmp_path}", "v1", logging.getLogger("factible"))


HONEY = FetchedPage(
    "https://a.example/honey", "ok", datetime(2026, 1, 2, tzinfo=UTC), text="Honey never spoils."
)


@asynccontextmanager
async def opened(tmp_path: Path, run: RunContext, **options: Any) -> AsyncIterator[Services]:
    resource = FactCheckServices(home=str(tmp_path / "home"))
    async with resource.open(observer=Observer(), run=run, **options) as services:
        yield services


@pytest.mark.parametrize(("wish", "rating"), [(None, "low"), ("high", "high")])
async def test_the_run_or_the_corpus_rates_the_pages_of_a_collection(
    tmp_path: Path, run: RunContext, wish: str | None, rating: str
) -> None:
    entry = '{id: abcDEF_-123, web: "archive:mine", pages_rating: low}'
    listed = corpus(tmp_path, entry).find("abcDEF_-123")
    Archive(Settings(home=tmp_path / "home").archive).add_page(HONEY, "mine")
    async with opened(tmp_path, run, listed=listed, pages_rating=wish) as services:
        assert [each.rating for each in services.ratings.lookup("nobody-knows.example")] == [rating]


async def test_missing_keys_select_the_defaults_with_a_remark(
    tmp_path: Path, run: RunContext, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(tmp_path, run) as services:
        assert services.reasoner.basis == "embedded"
    assert len([line for line in caplog.messages if "No language model is set up" in line]) == 1
    assert len([line for line in caplog.messages if "No search provider is set up" in line]) == 1
    again = RunContext("another run", "v1", run.log)
    async with opened(tmp_path, again, reasoners=Reasoners(reasoner="embedded"), web="miniature"):
        pass
    assert len([record for record in caplog.records if record.name == "factible"]) == 2


@pytest.mark.parametrize(
    ("variable", "value", "options", "words"),
    [
        ("OPENAI_API_KEY", "", {"reasoners": Reasoners(reasoner="llm")}, "OPENAI_API_KEY"),
        ("SERPER_API_KEY", "", {"web": "live"}, "SERPER_API_KEY"),
        ("FACTIBLE_SEARCH", "bing", {}, "FACTIBLE_SEARCH"),
        ("FACTIBLE_MODEL", "unheard-of", {}, "unheard-of"),
    ],
)
async def test_a_missing_service_is_a_final_failure(
    tmp_path: Path,
    run: RunContext,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    value: str,
    options: dict[str, str],
    words: str,
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(dg.Failure, match=words) as failure:
        async with opened(tmp_path, run, **options):
            pass
    assert failure.value.allow_retries is False


def test_lists_and_days_survive_the_launchpad() -> None:
    search = SearchConfig(
        exclude_domains=("a.example",), published_after=date(2020, 1, 1), language="EN"
    )
    options = FactCheckConfig(search=search)
    given = run_config_for(options, ["verdicts"])["ops"]["claim_checks"]["config"]
    assert given["search"]["exclude_domains"] == ["a.example"]
    assert FactCheckConfig.model_validate(given) == options


# --- Transcripts --------------------------------------------------------------------------------


def test_the_settings_configure_the_youtube_client(tmp_path: Path) -> None:
    made = settings(tmp_path, languages="de, en, translated", youtube_proxy="http://p:1")
    client = youtube_transcripts(made)
    assert client.languages == ("de", "en")
    assert client.translate
    assert client.proxy is not None


def corpus(tmp_path: Path, entry: str) -> CorporaReading:
    (tmp_path / "corpora").mkdir()
    (tmp_path / "corpora" / "mine.yaml").write_text(f"corpus: mine\nvideos:\n  - {entry}\n")
    return load_corpora([tmp_path / "corpora"])


def test_a_corpus_overrides_youtubes_details(tmp_path: Path) -> None:
    reading = corpus(tmp_path, "{id: abcDEF_-123, title: My title}")
    wanted = listed_video(reading, "abcDEF_-123")
    details = VideoDetails(title="Its title", channel="Its channel", duration_seconds=213.0)
    video = with_details(wanted, details)
    assert (video.title, video.channel, video.duration_seconds) == ("My title", "Its channel", 213)
    untitled = Video(video_id="abcDEF_-123", title="abcDEF_-123")
    assert with_details(untitled, details).title == "Its title"
    assert with_details(untitled, VideoDetails()).title == "abcDEF_-123"
    assert with_details(untitled, None) is untitled


def test_secrets_in_settings_are_never_shown(tmp_path: Path) -> None:
    made = settings(tmp_path, model_api_keys="house=canary", youtube_proxy="http://u:canary@p:1")
    assert made.model_api_keys == {"house": SecretStr("canary")}
    assert "canary" not in f"{made!r} {made} {made.model_dump()}"


# --- Prior fact checks, registries and remarks --------------------------------------------------


async def test_prior_fact_checks_need_a_key(tmp_path: Path, server: MisbehavingServer) -> None:
    search = {"search": "wikipedia"}
    async with live_web(settings(tmp_path, **search)) as web:
        assert web.fact_checks is None
    key = {**search, "google_fact_check_api_key": "k"}
    server.on("/v1alpha1/claims:search", respond_json({}))
    address = f"google_fact_check=http://127.0.0.1:{server.port}"
    for _ in range(2):
        async with live_web(settings(tmp_path, **key, endpoints=address)) as web:
            assert web.fact_checks is not None
            answer = await web.fact_checks.prior_checks(SearchRequest("sugar", 10))
            assert (answer.outcome, answer.checks) == ("ok", ())
    assert len(server.asked) == 1
    async with AsyncExitStack() as stack:
        stored = await open_web("archive", settings(tmp_path, **key), stack, DiskCache(tmp_path))
        assert stored.fact_checks is None


async def test_an_unknown_collection_is_refused(tmp_path: Path) -> None:
    made, cache = settings(tmp_path), DiskCache(tmp_path)
    async with AsyncExitStack() as stack:
        with pytest.raises(SetupError, match=r"no collection hony\. It is empty"):
            await open_web("archive:hony", made, stack, cache)
        Archive(made.archive).add_page(HONEY, "honey")
        with pytest.raises(SetupError, match=r"no collection hony\. It has honey"):
            await open_web("archive:hony", made, stack, cache)
        await open_web("archive:honey", made, stack, cache)


def test_a_default_causes_a_remark_only_without_an_option(tmp_path: Path) -> None:
    bare = settings(tmp_path)
    assert "SERPER_API_KEY" in (search_remark(bare, "auto", None) or "")
    assert search_remark(bare, "auto", "miniature") is None
    assert search_remark(bare, "archive", None) is None
    assert search_remark(settings(tmp_path, web="archive"), "auto", None) is None
    live = settings(tmp_path, web="live")
    told = search_remark(live, "auto", "miniature") or ""
    assert "FACTIBLE_WEB=live does not apply" in told
    assert "names the web miniature" in told
    assert search_remark(live, "live", "miniature") is None
    assert search_remark(live, "auto", "live") is None
    assert search_remark(settings(tmp_path, search="wikipedia"), "auto", None) is None
    # Of the language model that was asked for in vain, the run itself says it.
    for reasoner, is_told in (("auto", True), ("embedded", False), ("llm", False)):
        config = FactCheckConfig(reasoner=reasoner)
        told = default_remarks(bare, config, None)
        assert ("OPENAI_API_KEY" in told) is is_told


def test_another_effort_makes_another_answer(tmp_path: Path) -> None:
    plain, harder = (
        input_tags(StoredVideo("everyday-beliefs-talk", made), FactCheckConfig())
        for made in (
            settings(tmp_path, openai_api_key="k"),
            settings(tmp_path, openai_api_key="k", reasoning_effort="high"),
        )
    )
    assert plain != harder
