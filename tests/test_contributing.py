"""Follows the recipes of CONTRIBUTING.md like a newcomer.

Each recipe changes exactly the named files of a copy of the tree. One process then verifies that
all additions appear in the promised places.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("factible_assets", "resources", "warehouse")


@dataclass(frozen=True)
class Put:
    """Text to insert before a place in a file; without a place, a new file."""

    words: str
    before: str | None = None


A = "factible_assets/"
RAISE_THE_VERSION = Put(" + 1", before='\n"""Raise it with every change of a table.')

RECIPES: Mapping[str, Mapping[str, tuple[Put, ...]]] = {
    "An option of a run.": {
        f"{A}config.py": (
            Put(
                """
                    patience: float = Field(
                        default=0.5, ge=0.0, le=1.0, description="How long a verdict ripens."
                    )
                """,
                before="\n\nclass FactCheckConfig(Reasoners):",
            ),
        )
    },
    "A column that no code computes.": {
        f"{A}records/tables.py": (
            Put(
                '    mood: str | None = Field(default=None, description="How it is said.")\n',
                before='    basis: ClaimBasis\n\n    @model_validator(mode="after")',
            ),
        ),
        "warehouse/schema/claims.sql": (
            Put(
                "    mood VARCHAR,  -- How it is said.\n",
                before="    basis VARCHAR NOT NULL CHECK (basis IN ('embedded', 'llm', 'given'",
            ),
        ),
        "warehouse/versions.py": (RAISE_THE_VERSION,),
    },
    "An asset.": {
        f"{A}records/tables.py": (
            Put(
                """
                class Topic(Record, table="topics", order="name"):
                    \"\"\"What a video is about.\"\"\"

                    video_id: str
                    name: str = Field(min_length=1, description="In one word.")


                """,
                before="class Query(Record,",
            ),
        ),
        f"{A}records/rows.py": (
            Put(
                "    topics: Sequence[records.Topic] = ()\n",
                before="    queries: Sequence[records.Query]",
            ),
        ),
        "warehouse/versions.py": (RAISE_THE_VERSION,),
        "warehouse/schema/topics.sql": (
            Put(
                """
                CREATE TABLE topics (  -- What each video is about.
                    video_id VARCHAR NOT NULL,  -- The video.
                    name VARCHAR NOT NULL CHECK (name <> ''),  -- In one word.
                    run_id VARCHAR NOT NULL,  -- The run that wrote the row.
                    checked_at TIMESTAMPTZ NOT NULL  -- When (UTC).
                );
                """
            ),
        ),
        "warehouse/views/10_current.sql": (
            Put(
                """
                CREATE OR REPLACE VIEW current_topics AS  -- What each video is about.
                FROM topics
                SEMI JOIN (FROM current_materializations WHERE asset = 'topics')
                USING (video_id, run_id);

                """,
                before="CREATE OR REPLACE VIEW current_queries AS",
            ),
        ),
        f"{A}stages/topics.py": (
            Put(
                '''
                """What a video is about. What does not belong here: everything else."""

                from collections.abc import Sequence

                from factible_assets.records.tables import Claim, Topic


                def topics_of(claims: Sequence[Claim]) -> list[Topic]:
                    """Return the first word of each claim."""
                    found = {(claim.video_id, claim.text.split()[0].lower()) for claim in claims}
                    return [Topic(video_id=video, name=name) for video, name in sorted(found)]
                '''
            ),
        ),
        f"{A}pipeline/assets/topics.py": (
            Put(
                '''
                """The asset `topics`. What does not belong here: how topics are found."""

                from dataclasses import replace

                import dagster as dg

                from factible_assets.pipeline.assets.common import (
                    read_upstream,
                    stored_rows,
                    video_asset,
                )
                from factible_assets.pipeline.warehouse import WarehouseResource
                from factible_assets.stages.topics import topics_of


                @video_asset(
                    "topics", "1", "What the video is about.", deps=["transcripts", "claims"]
                )
                def topics(context: dg.AssetExecutionContext, warehouse: WarehouseResource):
                    store = warehouse.store()
                    with store.snapshot() as now:
                        said = read_upstream(now, context.partition_key, "transcripts", "claims")
                    found = topics_of(said.claims)
                    whole = replace(said, topics=found)
                    count = {"count": len(found)}
                    yield from stored_rows(context, store, "topics", "1", whole, 0.1, count)
                '''
            ),
        ),
        f"{A}definitions.py": (
            Put(
                "from factible_assets.pipeline.assets.topics import topics\n",
                before="from factible_assets.pipeline.assets.transcripts import",
            ),
            Put("topics, ", before="evaluation_asset(settings.corpus_folders)]"),
        ),
    },
    "A stance.": {
        f"{A}records/stances.py": (
            Put('"outdated", ', before='"unclear"]\n\n\n@dataclass'),
            Put(
                """
                StanceLabel(
                    name="outdated",
                    word="outdated",
                    heading="True once",
                    weight=0,
                    column="outdated",
                    glyph="<",
                    light="#2a4d8f",
                    dark="#9db8f0",
                    style="blue",
                    sources="say that the claim was true once",
                    source="says that it was true once",
                    seems="seems to say that it was true once",
                    read="that say it was true once",
                    page="says that it was true once",
                    legend="It was true, and no longer is.",
                    averitec="Conflicting Evidence/Cherrypicking",
                    fever="DISPUTED",
                ),
                """,
                before='        StanceLabel(\n            name="unclear"',
            ),
        ),
        f"{A}records/tables.py": (Put("    outdated: Count = 0\n", before="    unclear: Count\n"),),
        "warehouse/schema/verdicts.sql": (
            Put(
                "    outdated BIGINT NOT NULL DEFAULT 0,  -- Sources that say: once true.\n",
                before="    unclear BIGINT NOT NULL CHECK",
            ),
        ),
        "warehouse/versions.py": (RAISE_THE_VERSION,),
    },
    "A check.": {
        f"{A}stages/integrity.py": (
            Put(
                '''
                @rule("claims")
                def claims_are_said_aloud(rows: VideoRows) -> Breaches:
                    """No claim is a whisper."""
                    for claim in rows.claims:
                        if claim.text.startswith("psst"):
                            yield claim, "it is whispered"


                ''',
                before='@rule("claims")\ndef claims_are_in_order(',
            ),
        )
    },
    "A metric.": {
        f"{A}evaluation/metrics/evidence.py": (
            Put(
                '''
                def queries_per_claim(rows: VideoRows) -> Ratio:
                    """Return how many queries a claim has; undefined without claims."""
                    return Ratio(len(rows.queries), len(rows.claims))


                ''',
                before="def sources_per_query(",
            ),
        ),
        f"{A}evaluation/measures.py": (
            Put(
                '    _evidence("queries per claim", "claims", evidence.queries_per_claim),\n',
                before='    _evidence("sources per query"',
            ),
        ),
    },
    "A metric of stances.": {
        f"{A}evaluation/metrics/stances.py": (
            Put(
                '''
                def boldness(judgements: Sequence[Judgement]) -> float | None:
                    """Return the share of answers; undefined without judgements."""
                    return len(answered(judgements)) / len(judgements) if judgements else None


                ''',
                before="def accuracy(",
            ),
        ),
        f"{A}evaluation/measures.py": (
            Put(
                '    _of_stances("boldness", stances.boldness, trivial=lambda it, among: None),\n',
                before='    _of_stances("stance accuracy"',
            ),
        ),
    },
    "A strategy.": {
        f"{A}strategies/coin.py": (
            Put(
                '''
                """One search in the claim's own words. What does not belong here: a second one."""

                from factible_assets.stages.claim_check import ClaimCheck, ClaimRows
                from factible_assets.stages.queries import build_queries
                from factible_assets.stages.flow import Strategy


                async def check(claim: ClaimCheck) -> ClaimRows:
                    """One search, all of its pages, the vote."""
                    with claim.trace.step("query", "its own words", claim.claim.text) as note:
                        queries = build_queries(
                            claim.claim, (), claim.config.queries, basis=claim.basis
                        )
                        note.made = [query.query_id for query in queries]
                    case = await claim.gather(queries)
                    return case, await claim.judge(case)


                STRATEGY = Strategy("coin", check)
                '''
            ),
        )
    },
    "A list of ratings.": {
        "resources/ratings/datasets.py": (
            Put(
                """
                STARS = TableLayout(
                    dataset="stars",
                    columns={"domain": "site", "rating": "stars"},
                    thresholds={"high": 4, "low": 2},
                )
                """,
                before='OUTLETS = TableLayout(dataset="mbfc")',
            ),
            Put('    ".txt": _table,\n', before='    ".json": _outlets,'),
        ),
        f"{A}services/ratings.py": (
            Put('        project / "stars.csv",\n', before='        project / "credibility_tiers'),
            Put(
                """
                    if "stars" in header:
                        return datasets.STARS
                """,
                before="    optional = [column for",
            ),
        ),
    },
    "A reader of stances.": {
        f"{A}reasoners/readers/echo.py": (
            Put(
                '''
                """Repeats the claim. What does not belong here: a reading."""

                from factible_assets.reasoners.readers.base import PageReading
                from factible_assets.reasoners.readers.passages import Selection


                class EchoReader:
                    async def read(
                        self, claim: str, selection: Selection, *, title: str
                    ) -> PageReading:
                        return PageReading("supports", 1.0, "assertion")
                '''
            ),
        ),
        f"{A}config.py": (Put('"echo", ', before='"lexical", "plain", "entailment"'),),
        f"{A}services/reasoning.py": (
            Put('    "echo": "the claim alone",\n', before='    "lexical": "indicator words"'),
            Put(
                """
                    if reader == "echo":
                        from factible_assets.reasoners.readers.echo import EchoReader

                        return EchoReader()
                """,
                before='    if reader == "lexical":',
            ),
        ),
    },
    "A search provider.": {
        "resources/search/providers.py": (
            Put(
                '''
                class AlmanacSearch(SearchService):
                    """Knows nothing yet."""

                    provider = "almanac"
                    address = "https://almanac.example"

                    async def _find(self, request: SearchRequest) -> Findings:
                        return [], ""


                ''',
                before="class PerplexityExpert(",
            ),
        ),
        f"{A}settings.py": (
            Put('"almanac", ', before='"serper", "searxng", "semantic_scholar"'),
            Put(
                "    almanac_api_key: SecretStr | None = None\n",
                before="    perplexity_api_key: SecretStr",
            ),
        ),
        f"{A}services/search.py": (
            Put(
                """
                "almanac": Provider(
                    "AlmanacSearch",
                    "almanac_api_key",
                    "For sunrises: set ALMANAC_API_KEY.",
                ),
                """,
                before='    "wikipedia": Provider(',
            ),
        ),
        ".env.example": (Put("#ALMANAC_API_KEY=\n", before="#PERPLEXITY_API_KEY="),),
    },
}

FOUND = """
    import asyncio
    from pathlib import Path
    import dagster as dg
    from typer.testing import CliRunner
    from factible_assets.cli.main import app
    from factible_assets.config import Reasoners, config_of
    from factible_assets.definitions import build_defs
    from factible_assets.evaluation.measures import CATALOGUE
    from factible_assets.runs.experiments.files import experiment_json_schema
    from factible_assets.pipeline.launchpad import CLAIM_CHECKS_SCHEMA, run_config_for
    from factible_assets.records.tables import ALL_RECORDS, Topic
    from factible_assets.records.rows import VideoRows
    from factible_assets.records.scales import AVERITEC
    from factible_assets.records.stances import with_stances
    from factible_assets.services.checkup import examine
    from factible_assets.services.ratings import rating_directory
    from factible_assets.services.reasoning import _stance_reader, choose_reasoners
    from factible_assets.services.search import search_names, search_service
    from factible_assets.settings import Settings
    from factible_assets.stages.flow import check_claims
    from factible_assets.stages.integrity import judge
    from factible_assets.strategies import strategy_named
    from factible_assets.wording import OUTCOMES
    from tests.stages.world import VIDEO, Hit, World, make_claim, says
    from tests.warehouse.samples import claim, fact_check, stamp, verdict, write_asset
    from tests.test_settings import test_every_variable_is_described_in_the_example
    from warehouse.rows import columns_of
    from warehouse.store import Warehouse

    # An option of a run: the launchpad, the command line, experiments, the run.
    assert "patience" in CLAIM_CHECKS_SCHEMA["verdicts"].config_type.fields
    assert "--patience" in CliRunner().invoke(app, ["check", "--help-all"]).output
    assert "patience" in experiment_json_schema()["properties"]["settings"]["properties"]
    assert config_of({"patience": 0.7}).verdicts.patience == 0.7

    # A strategy: offered everywhere, and its rows say that they are its.
    assert "coin" in experiment_json_schema()["properties"]["settings"]["properties"]["strategy"][
        "anyOf"][0]["enum"]
    assert "coin" in CliRunner().invoke(app, ["check", "--help-all"]).output
    world = World(texts={"https://a.example/": says("Bees buzz", "supports")})
    world.results["Bees buzz"] = [[Hit(1, "A", "https://a.example/")]]
    checked = asyncio.run(check_claims(
        VIDEO, [make_claim("Bees buzz")], world.services(), config_of({"strategy": "coin"}),
        strategy=strategy_named("coin"),
    ))
    assert [row.strategy for row in checked.verdicts] == ["coin"]
    assert [(row.strategy, row.step) for row in checked.steps] == [("coin", "query")]

    # A column: written, read, in the view, described.
    store = Warehouse(Path("home/warehouse.duckdb"))
    whole = fact_check("v")
    moody = claim("v").model_copy(update={"mood": "merry"})
    write_asset(store, "claims", "v", [moody], stamp=stamp(1), code_version="1")
    assert store.query("SELECT mood FROM current_claims").item() == "merry"
    columns = store.query("SELECT column_name, comment FROM duckdb_columns() "
                          "WHERE table_name = 'claims'").rows()
    assert {each.name for each in columns_of(type(moody))} <= {name for name, _ in columns}
    assert ("mood", "How it is said.") in columns

    # A stance: stored, counted in the views, coloured; a shared label means the other stance.
    once = verdict("v").model_copy(update={"stance": "outdated", "outdated": 3})
    write_asset(store, "verdicts", "v", [once], stamp=stamp(1), code_version="1")
    assert store.query("SELECT verdict, outdated FROM verdicts").rows() == [("outdated", 3)]
    assert "--outdated: light-dark(#2a4d8f, #9db8f0);" in with_stances(
        Path("factible_assets/report/shared.css").read_text())
    assert OUTCOMES["outdated"].leaning == "leaning outdated"
    assert AVERITEC["Conflicting Evidence/Cherrypicking"] == "mixed"

    # An asset: in the job fact_check, judged, stored, current.
    settings = Settings(home=Path("home").resolve())
    store.write_assets("v", {"transcripts": whole["transcripts"]}, stamp=stamp(1))
    defs = build_defs(settings)
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("videos", ["v"])
        done = defs.resolve_job_def("fact_check").execute_in_process(
            instance=instance, partition_key="v", asset_selection=[dg.AssetKey("topics")],
        )
    (judged,) = done.get_asset_check_evaluations()
    assert (judged.check_name, judged.passed) == ("integrity", True)
    assert [row.name for row in store.read_current(Topic, "v")] == ["claim"]
    assert [row.name for row in store.read_video("v", ["topics"]).topics] == ["claim"]
    assert [each.__name__ for each in ALL_RECORDS][3:5] == ["Claim", "Topic"]

    # A check: it finds its breach, and stands in Dagster.
    whisper = moody.model_copy(update={"text": "psst"})
    found = judge(["claims"], VideoRows(videos=whole["transcripts"].rows[:1], claims=[whisper]))
    assert "claims_are_said_aloud" in {each.rule.name for each in found if each.violations}
    key = dg.AssetCheckKey(dg.AssetKey("claims"), "integrity")
    described = defs.resolve_asset_graph().get_check_spec(key).description
    assert "claims are said aloud" in described

    # Metrics, in the list that everything takes them from.
    assert CATALOGUE["queries per claim"].family == "evidence"
    assert CATALOGUE["boldness"].family == "stances"

    # A reader of stances: offered, chosen, described.
    assert "echo" in CliRunner().invoke(app, ["check", "--help-all"]).output
    choices = choose_reasoners(Reasoners(evidence_by="echo"), settings)
    assert "pages read by the claim alone" in choices.words
    echo = _stance_reader(settings, choices.evidence, None, None, None, None)
    assert type(echo).__name__ == "EchoReader"

    # A list of ratings: recognised by its header.
    Path("stars.csv").write_text("site,stars\\nexample.org,5\\n")
    (star,) = rating_directory([Path("stars.csv")]).lookup("example.org")
    assert (star.dataset, star.rating) == ("stars", "high")

    # A search provider: chosen, made with its key, known to doctor and described.
    chosen = Settings(home=settings.home, search="almanac", almanac_api_key="key")
    assert search_names(chosen) == ("almanac",)
    assert type(search_service("almanac", None, chosen)).__name__ == "AlmanacSearch"
    (told,) = [each for each in asyncio.run(examine(settings)) if each.service == "almanac"]
    assert told.remedy == "For sunrises: set ALMANAC_API_KEY."
    test_every_variable_is_described_in_the_example()
"""


def recipes() -> dict[str, str]:
    """Each recipe of CONTRIBUTING.md by its first words."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    *_, recipes, _ = re.split(r"^## ", text, flags=re.MULTILINE)
    parts = re.split(r"^\*\*(.+?)\*\*", recipes, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def named_files(recipe: str) -> set[str]:
    """The files that are changed, as the recipe names them; not those that tests or targets are."""
    found = re.findall(r"`([\w./]+\.(?:py|sql|example)|\.env\.example)`", recipe)
    roots = ("warehouse/", "resources/", ".env", "tests/")
    paths = (name if name.startswith(roots) else f"{A}{name}" for name in found)
    return {path for path in paths if not path.startswith("tests/")}


def linked(source: str, target: str) -> None:
    """Copy a file without copying its content, where the file system can."""
    with suppress(OSError):
        os.link(source, target)
        return
    shutil.copy2(source, target)


def follow(recipe: Mapping[str, tuple[Put, ...]], tree: Path) -> None:
    for name, puts in recipe.items():
        file = tree / name
        for put in puts:
            words = (
                textwrap.dedent(put.words).lstrip("\n") if "\n" in put.words.strip() else put.words
            )
            if put.words.startswith("\n" + " " * 20):  # the body of a class or a table
                words = textwrap.indent(words, "    ")
            if put.before is None:
                assert not file.exists()
                file.write_text(words, encoding="utf-8")
                continue
            text = file.read_text(encoding="utf-8")
            assert text.count(put.before) == 1, f"{name}: {put.before!r}"
            file.unlink()  # It is the original's, too.
            file.write_text(text.replace(put.before, words + put.before), encoding="utf-8")


def test_every_recipe_can_be_followed_in_the_files_that_it_names(tmp_path: Path) -> None:
    tree, told = tmp_path / "tree", recipes()
    for package in (*PACKAGES, "tests"):
        shutil.copytree(ROOT / package, tree / package, copy_function=linked)
    linked(str(ROOT / ".env.example"), str(tree / ".env.example"))
    (tree / "home").mkdir()
    for name, recipe in RECIPES.items():
        patterns = {re.sub(r"\bNAME\b", "*", path) for path in named_files(told[name])}
        unnamed = [path for path in recipe if not any(fnmatch(path, each) for each in patterns)]
        idle = [each for each in patterns if not any(fnmatch(path, each) for path in recipe)]
        assert (unnamed, idle) == ([], []), name
        follow(recipe, tree)
    environment = {**os.environ, "PYTHONPATH": str(tree), "FACTIBLE_HOME": str(tree / "home")}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(FOUND)],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
