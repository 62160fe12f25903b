"""Updates the answers in docs/sql-cookbook.md: python -m tests.cookbook."""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from typer.testing import CliRunner

from factible_assets.cli.main import app
from tests.end_to_end.loopback import VIDEO_URL, loopback_world
from tests.servers import respond

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "sql-cookbook.md"
_DEMO = "everyday-beliefs-talk"
_BLOCK = re.compile(r"```sql\n(?P<query>.*?)\n```\n\n```text\n(?P<answer>.*?)```", re.DOTALL)


@contextmanager
def cookbook_world(folder: Path) -> Iterator[dict[str, str | None]]:
    """Check two videos, one of them twice, and yield the environment for the queries.

    The demo's talk with the embedded engine, first with one search per claim and then with all; and
    a small video with a scripted language model and one failing source.
    """
    with loopback_world(folder) as world:
        plain = {**world.environment, "OPENAI_BASE_URL": None, "FACTIBLE_WEB": None}
        _run(plain, "check", _DEMO, "--max-claims", "8", "--max-queries", "1")
        _run(plain, "check", _DEMO, "--max-claims", "8")
        world.settings = {"SERPER_API_KEY": "a-key", "OPENAI_API_KEY": "another-key"}
        world.server.on("/party", respond("busy", status=503))
        _run(world.environment, "check", VIDEO_URL)
        yield plain


def _run(environment: dict[str, str | None], *arguments: str) -> str:
    result = CliRunner().invoke(app, arguments, env=environment)
    # 3: some verdicts are incomplete, because one service fails on purpose.
    assert result.exit_code in {0, 3}, result.stderr
    return result.stdout


def answered(document: str, environment: dict[str, str | None]) -> str:
    """Return the document with the current answer under each query."""

    def answer(found: re.Match[str]) -> str:
        table = _run(environment, "sql", found["query"])
        lines = [line.rstrip() for line in table.splitlines()]
        shown = "\n".join(line for line in lines if line)
        return f"```sql\n{found['query']}\n```\n\n```text\n{shown}\n```"

    return _BLOCK.sub(answer, document)


def questions(document: str) -> int:
    """Return the number of queries in a document."""
    return len(_BLOCK.findall(document))


def main() -> int:
    """Write the current answers into the document."""
    document = DOCUMENT.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder, cookbook_world(Path(folder)) as environment:
        DOCUMENT.write_text(answered(document, environment), encoding="utf-8")
    sys.stdout.write(f"{questions(document)} questions answered in {DOCUMENT}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
