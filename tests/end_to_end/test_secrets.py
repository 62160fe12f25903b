"""Runs succeed and fail with planted keys and passwords, and no file contains these afterwards."""

import base64
import json
import sqlite3
import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import duckdb

from factible_assets.records.tables import Evidence, LlmCall, PriorFactCheck, Search
from tests.end_to_end.loopback import (
    CHAT,
    CLAIMS,
    EXPERT,
    FACT_CHECKS,
    JINA,
    MODELS,
    PAGES,
    PAPERS,
    SEARCH,
    VIDEO_URL,
    LoopbackWorld,
    answer_like_a_model,
    loopback_world,
)
from tests.resources.transcripts.fake_youtube import VIDEO, WATCH
from tests.servers import Behaviour, Exchange, respond, respond_json
from warehouse.store import Warehouse

IN_ENVIRONMENT = {
    "SERPER_API_KEY": "canary-serper-7c1e02d94ab86f53",
    "OPENAI_API_KEY": "sk-canary-openai-0f9b4c27d6e81a35",
    "GOOGLE_FACT_CHECK_API_KEY": "AIza-canary-checks-91d4e07b3c6af528",
}
IN_DOTENV = {
    "SEMANTIC_SCHOLAR_API_KEY": "canary-scholar-b57e9a0c1d3f4826",
    "PERPLEXITY_API_KEY": "pplx-canary-e4a7d1905c2b8f36",
    "JINA_API_KEY": "jina-canary-19f6c3e8a0d5b742",
}
PROXY_PASSWORD = "canary-proxy-d82f5b6a19e0c374"
GATEWAY_KEY = "canary-gateway-5e0a93c7f1d4b286"
CANARIES = (*IN_ENVIRONMENT.values(), *IN_DOTENV.values(), PROXY_PASSWORD, GATEWAY_KEY)

SENT = {
    SEARCH: ("x-api-key", IN_ENVIRONMENT["SERPER_API_KEY"]),
    PAPERS: ("x-api-key", IN_DOTENV["SEMANTIC_SCHOLAR_API_KEY"]),
    EXPERT: ("authorization", IN_DOTENV["PERPLEXITY_API_KEY"]),
    FACT_CHECKS: ("x-goog-api-key", IN_ENVIRONMENT["GOOGLE_FACT_CHECK_API_KEY"]),
    CHAT: ("authorization", IN_ENVIRONMENT["OPENAI_API_KEY"]),
    JINA: ("authorization", IN_DOTENV["JINA_API_KEY"]),
}


# --- Searching ----------------------------------------------------------------------------------


def needles(secret: str) -> list[bytes]:
    """Return a secret as it is, and the middle of it in base64 at every alignment."""
    plain = secret.encode()
    shifted = [base64.b64encode(b"x" * pad + plain)[4:-4] for pad in range(3)]
    return [plain, *shifted]


def leaks(content: bytes) -> list[str]:
    return [secret for secret in CANARIES if any(each in content for each in needles(secret))]


def contents(file: Path) -> Iterator[bytes]:
    """Yield a file's bytes, and the unpacked values of a database."""
    raw = file.read_bytes()
    yield raw
    if raw.startswith(b"SQLite format 3"):
        yield from _sqlite(file)
    elif raw[8:12] == b"DUCK":
        yield from _duckdb(file)


def _sqlite(file: Path) -> Iterator[bytes]:
    with closing(sqlite3.connect(file)) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        for (table,) in tables.fetchall():
            try:
                rows = connection.execute(f'SELECT * FROM "{table}"').fetchall()  # noqa: S608
            except sqlite3.OperationalError:  # the inside of a full-text index
                continue
            for value in (value for row in rows for value in row):
                if isinstance(value, bytes):
                    yield value
                    try:
                        yield zlib.decompress(value)
                    except zlib.error:
                        continue
                else:
                    yield str(value).encode()


def _duckdb(file: Path) -> Iterator[bytes]:
    with duckdb.connect(str(file), read_only=True) as connection:
        for (table,) in connection.execute(
            "SELECT DISTINCT table_name FROM duckdb_tables()"
        ).fetchall():
            for row in connection.execute(f'SELECT * FROM "{table}"').fetchall():  # noqa: S608
                yield repr(row).encode()


def left_behind(*folders: Path) -> dict[str, list[str]]:
    """Return the secrets that files contain, by file."""
    found: dict[str, list[str]] = {}
    for folder in folders:
        for file in (file for file in folder.rglob("*") if file.is_file() and file.name != ".env"):
            inside = sorted({secret for content in contents(file) for secret in leaks(content)})
            if inside:
                found[str(file.relative_to(folder))] = inside
    return found


def test_the_search_for_secrets_looks_into_archives(tmp_path: Path) -> None:
    secret = CANARIES[0]
    (tmp_path / "plain.log").write_text(f"a line with {secret} in it")
    (tmp_path / "basic.log").write_bytes(base64.b64encode(f"user:{secret}".encode()))
    with closing(sqlite3.connect(tmp_path / "packed.db")) as connection, connection:
        connection.execute("CREATE TABLE t (body BLOB)")
        connection.execute("INSERT INTO t VALUES (?)", (zlib.compress(secret.encode() * 50),))
    with duckdb.connect(str(tmp_path / "rows.duckdb")) as made:
        made.execute("CREATE TABLE t AS SELECT ? || (range % 3)::TEXT AS v FROM range(9)", [secret])
    (tmp_path / "clean.log").write_text("nothing of the sort")
    assert set(left_behind(tmp_path)) == {"plain.log", "basic.log", "packed.db", "rows.duckdb"}


# --- Services that repeat the keys of a request -------------------------------------------------


def echo(status: int) -> Behaviour:
    """Refuse, and repeat every header of the request in the answer's body and headers."""

    async def behave(exchange: Exchange) -> None:
        given = dict(exchange.asked.headers)
        names = ("x-api-key", "x-goog-api-key", "authorization")
        keys = [given[name] for name in names if name in given]
        said = f"Incorrect API key provided: {' '.join(keys)}. You sent {json.dumps(given)}"
        body = {"error": {"message": said, "type": "invalid", "code": None}, "message": said}
        await respond(
            json.dumps(body),
            status=status,
            content_type="application/json",
            headers={"X-You-Sent": " ".join(keys)},
        )(exchange)

    return behave


async def _chat_that_rejects_reading(exchange: Exchange) -> None:
    asked = exchange.asked.json
    assert isinstance(asked, dict)
    if asked["response_format"]["json_schema"]["name"] == "Reading":
        await echo(400)(exchange)
    else:
        await respond_json(answer_like_a_model(asked))(exchange)


async def _search_that_rejects_the_second_query(exchange: Exchange) -> None:
    asked = exchange.asked.json
    assert isinstance(asked, dict)
    if "myth" in asked["q"]:
        await echo(403)(exchange)
    else:
        organic = [{"title": "Found", "link": url, "snippet": "A trial."} for url in PAGES]
        await respond_json({"organic": organic if asked["page"] == 1 else []})(exchange)


async def _jina_that_rejects_one_page(exchange: Exchange) -> None:
    asked = exchange.asked.json
    assert isinstance(asked, dict)
    if asked["url"].endswith("/sugar"):
        await echo(402)(exchange)
    else:
        await respond_json({"data": {"content": PAGES[asked["url"]], "url": asked["url"]}})(
            exchange
        )


def reject(world: LoopbackWorld) -> None:
    """Let services refuse all requests, or some of them."""
    world.server.on(SEARCH, _search_that_rejects_the_second_query)
    world.server.on(PAPERS, echo(401))
    world.server.on(EXPERT, echo(429))
    world.server.on(FACT_CHECKS, echo(403))
    world.server.on(JINA, _jina_that_rejects_one_page)
    world.server.on(CHAT, _chat_that_rejects_reading)
    world.server.on(MODELS, echo(401))


def block(world: LoopbackWorld) -> None:
    """Let YouTube refuse this address, and the proxy refuse its password."""
    world.server.on(WATCH, respond("Too many requests", status=429))
    world.server.on(f"{world.address}{WATCH}", echo(407))


def plant(world: LoopbackWorld) -> None:
    lines = [f"{name}={value}" for name, value in IN_DOTENV.items()]
    (world.work / ".env").write_text("\n".join(lines), encoding="utf-8")
    proxy = f"http://user:{PROXY_PASSWORD}@127.0.0.1:{world.server.port}"
    world.settings = {
        **IN_ENVIRONMENT,
        "FACTIBLE_YOUTUBE_PROXY": proxy,
        "FACTIBLE_MODEL_API_KEYS": f"gateway={GATEWAY_KEY}",
        "FACTIBLE_SEARCH": "serper,semantic_scholar,perplexity",
        "FACTIBLE_KEEP_PROMPTS": "7",
    }


KEEP_NOTHING: Mapping[str, str] = {"FACTIBLE_CACHING": "false"}


def holding(home: Path, words: str) -> list[str]:
    files = (each for each in home.rglob("*") if each.is_file())
    return [str(each) for each in files if words.encode() in each.read_bytes()]


def test_no_run_leaves_a_key_anywhere_and_no_file_names_a_forgotten_video(tmp_path: Path) -> None:
    said = []
    with loopback_world(tmp_path) as world:
        plant(world)
        for arguments in (("check", VIDEO_URL), ("doctor",)):
            code, out, err = world.factible(*arguments)
            assert code == 0, err
            said += [out, err]

        reject(world)
        world.settings |= {**KEEP_NOTHING, "FACTIBLE_PAGES": "jina"}
        code, out, err = world.factible("--debug", "check", VIDEO_URL, "--force")
        assert code == 3, err
        said += [out, err]
        code, out, err = world.factible("doctor", "--json")
        assert code == 1
        said += [out, err]

        block(world)
        code, out, err = world.factible("--debug", "check", VIDEO_URL, "--force")
        assert code == 1, err
        assert "proxy" in err
        said += [out, err]

        # The keys went out, so that there was something to leave behind.
        for path, (header, secret) in SENT.items():
            sent = [asked.headers.get(header, "") for asked in world.server.asked]
            at = [asked.path for asked in world.server.asked]
            assert any(path == p and secret in h for p, h in zip(at, sent, strict=True)), path
        through = [asked for asked in world.server.asked if "proxy-authorization" in asked.headers]
        assert through

    store = Warehouse(world.home / "warehouse.duckdb")
    reasons = [
        *(row.reason for row in store.read_current(Search, VIDEO)),
        *(row.reason for row in store.read_current(Evidence, VIDEO)),
        *(row.reason for row in store.read_current(PriorFactCheck, VIDEO)),
        *(row.reason for row in store.read_current(LlmCall, VIDEO)),
    ]
    told = " ".join(reason for reason in reasons if reason)
    assert "status 400" in told
    assert "too many requests for this account" in told
    assert "check SERPER_API_KEY" in told
    assert "check GOOGLE_FACT_CHECK_API_KEY" in told
    assert "JINA_API_KEY" in told or "out of credits" in told

    assert [leaks(text.encode()) for text in said] == [[]] * len(said)
    assert left_behind(world.home, world.work) == {}
    made = {file.name for file in world.home.rglob("*") if file.is_file()}
    assert {"warehouse.duckdb", "published.duckdb", "archive.sqlite", "answers.sqlite"} <= made

    # None of these files names a forgotten video, caches included.
    words = {VIDEO, *CLAIMS, *PAGES, "Controlled trials found no evidence", "checkers-test.org"}
    assert [each for each in sorted(words) if not holding(world.home, each)] == []
    code, told, err = world.factible("forget", VIDEO_URL)
    assert code == 0, err
    for place in ("kept answers (models)", "kept answers (pages)", "kept answers (search)"):
        assert place in told
    for place in ("stored pages", "kept prompts", "runs at Dagster", "rows of llm_calls"):
        assert place in told
    code, _, err = world.factible("forget", VIDEO_URL, "--yes")
    assert code == 0, err
    assert {each: found for each in sorted(words) if (found := holding(world.home, each))} == {}
    code, _, err = world.factible("status")
    assert code == 0, err
