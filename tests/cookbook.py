"""Updates the answers in docs/sql-cookbook.md: python -m tests.cookbook."""

from __future__ import annotations

import ast
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from typer.testing import CliRunner

from factible_assets.cli.main import app
from tests.end_to_end.loopback import VIDEO_URL, loopback_world
from tests.servers import respond

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "sql-cookbook.md"
NOTEBOOK = DOCUMENT.with_name("notebook.ipynb")
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


def run_cells(notebook: str, environment: dict[str, str | None]) -> str:
    """Return the notebook with the current output of each code cell: the last expression's repr."""
    document = json.loads(notebook)
    names: dict[str, Any] = {}
    given = {name: value for name, value in environment.items() if value is not None}
    with mock.patch.dict(os.environ, given):
        for number, cell in enumerate(
            (each for each in document["cells"] if each["cell_type"] == "code"), start=1
        ):
            body = ast.parse("".join(cell["source"])).body
            last = body.pop() if isinstance(body[-1], ast.Expr) else None
            exec(compile(ast.Module(body, []), "cell", "exec"), names)  # noqa: S102 - our notebook
            shown = None
            if isinstance(last, ast.Expr):
                shown = eval(compile(ast.Expression(last.value), "cell", "eval"), names)  # noqa: S307
            cell["execution_count"], cell["outputs"] = number, []
            if shown is not None:
                data = {"text/plain": repr(shown).splitlines(keepends=True)}
                result = {"output_type": "execute_result", "execution_count": number}
                cell["outputs"] = [{**result, "data": data, "metadata": {}}]
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def questions(document: str) -> int:
    """Return the number of queries in a document."""
    return len(_BLOCK.findall(document))


def main() -> int:
    """Write the current answers into the document."""
    document = DOCUMENT.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder, cookbook_world(Path(folder)) as environment:
        DOCUMENT.write_text(answered(document, environment), encoding="utf-8")
        cells = run_cells(NOTEBOOK.read_text(encoding="utf-8"), environment)
        NOTEBOOK.write_text(cells, encoding="utf-8")
    sys.stdout.write(f"{questions(document)} questions answered in {DOCUMENT}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
