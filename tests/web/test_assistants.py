"""The door for assistants, asked by the SDK's own client."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from factible_assets.settings import Settings
from tests.shortcuts import prepare

if TYPE_CHECKING:  # the SDK takes a sixth of the time in which a worker loads all tests
    from mcp import Client
    from mcp_types import CallToolResult

DEMO_VIDEO = "everyday-beliefs-talk"
TOOLS = {
    "list_videos", "show_video", "show_claim", "search_claims", "show_overview",
    "describe_tables", "query", "check_video", "check_text", "follow_check",
}  # fmt: skip


def assistant(home: Path) -> Client:
    """Return a client of a server in this process."""
    from mcp import Client  # noqa: PLC0415 - see above

    from factible_assets.web.assistants import create_server  # noqa: PLC0415

    return Client(create_server(Settings(home=home)))


def words_of(answer: CallToolResult) -> str:
    (content,) = answer.content
    assert content.type == "text"
    return content.text


async def told(client: Client, tool: str, **given: Any) -> dict[str, Any]:
    answer = await client.call_tool(tool, given)
    assert not answer.is_error, words_of(answer)
    assert isinstance(answer.structured_content, dict)
    return answer.structured_content


async def refused(client: Client, tool: str, **given: Any) -> str:
    answer = await client.call_tool(tool, given)
    assert answer.is_error
    return words_of(answer)


async def test_only_tools_that_check_may_change_anything(home: Path) -> None:
    async with assistant(home) as client:
        tools = (await client.list_tools()).tools
    assert {tool.name for tool in tools} == TOOLS
    changing = {tool.name for tool in tools if not (tool.annotations or tool).read_only_hint}  # type: ignore[union-attr] # every tool has annotations
    assert changing == {"check_video", "check_text", "follow_check"}


async def test_a_video_and_its_claims_can_be_looked_up(home: Path, published: str) -> None:
    async with assistant(home) as client:
        (listed,) = (await told(client, "list_videos"))["items"]
        video = await told(client, "show_video", video=published)
        first = video["claims"][0]
        claim = await told(client, "show_claim", video=published, claim_id=first["claim_id"])
        words = str(first["claim"])
        found = await told(client, "search_claims", words=words)
    assert listed["video_id"] == video["video_id"] == published
    assert {"verdict", "start_seconds", "claim"} <= first.keys()
    assert claim["text"] == words
    assert claim["evidence"][0]["url"].startswith("http")
    assert words in {row["text"] for row in found["rows"]["claim"]}


async def test_a_channel_is_counted_and_its_name_must_be_known(home: Path, published: str) -> None:
    async with assistant(home) as client:
        channel = (await told(client, "show_video", video=published))["channel"]
        counted = await told(client, "show_overview", kind="channel", name=channel)
        unknown = await refused(client, "show_overview", kind="channel", name="Nobody")
    assert sum(month["total"] for month in counted["month"]) == 5
    assert unknown == "No checked claim belongs to a channel Nobody."


@pytest.mark.usefixtures("published")
async def test_queries_read_and_have_a_limit_of_rows(home: Path) -> None:
    async with assistant(home) as client:
        views = await told(client, "describe_tables")
        columns = await told(client, "describe_tables", name="current_claims")
        rows = await told(client, "query", sql="select 'nan'::double, '\\xAA'::blob, {'a': 1}")
        many = await told(client, "query", sql="from range(5000)", most_rows=2)
    assert "current_claims" in {row[0] for row in views["rows"]}
    assert "text" in {row[0] for row in columns["rows"]}
    assert rows["rows"] == [[None, "qg==", {"a": 1}]]
    assert (many["rows"], many["has_more_rows"]) == ([[0], [1]], True)


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("from read_csv('/etc/passwd')", "no other file"),
        ("from current_verdicts where stance = 'refuted'", "Write 'refutes'"),
    ],
)
async def test_a_refused_query_is_a_sentence_without_the_command_line(
    home: Path, published: str, sql: str, words: str
) -> None:
    del published
    async with assistant(home) as client:
        said = await refused(client, "query", sql=sql)
    assert words in said
    assert "factible sql" not in said
    assert "--" not in said


async def test_every_error_is_a_sentence(home: Path, published: str) -> None:
    async with assistant(home) as client:
        said = [
            await refused(client, "show_video", video="never-checked"),
            await refused(client, "show_claim", video=published, claim_id="none"),
            await refused(client, "check_video", video="/etc/passwd"),
            await refused(client, "query", sql="select 1", most_rows=0),
            await refused(client, "query"),
        ]
    for words in said:
        assert words.endswith(".")
        assert "\n" not in words
        assert "Error" not in words


async def test_the_command_checks_a_text_over_stdio(home: Path) -> None:
    from mcp import Client, StdioServerParameters  # noqa: PLC0415 - see above

    prepare(home)
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "factible_assets", "mcp"],
        env={**kept, "FACTIBLE_HOME": str(home), "FACTIBLE_WEB": "miniature"},
        cwd=home,
    )
    text = "A goldfish has a memory of only three seconds. The weather was fine."
    heard: list[str | None] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        del progress, total
        heard.append(message)

    async with Client(server) as client:
        given = {"text": text, "title": "A post", "max_claims": 1}
        answer = await client.call_tool("check_text", given, progress_callback=hear)
        while "run_id" in (now := answer.structured_content or {}):
            answer = await client.call_tool("follow_check", {"run_id": now["run_id"]})
        assert not answer.is_error, words_of(answer)
        (listed,) = (await told(client, "list_videos"))["items"]
    assert "goldfish" in now["claims"][0]["claim"]
    assert listed["title"] == "A post"
    assert "1 claim" in " ".join(filter(None, heard))
