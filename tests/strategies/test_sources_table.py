"""docs/strategies.md links each published formula to its code and its test."""

from __future__ import annotations

import ast
import re
from functools import cache, reduce
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/strategies.md").read_text("utf-8")
TABLE = PAGE.partition("## Equations, parameters and tests")[2]
ROWS = re.findall(r"^\|[^|]*\| (.+?) \| (.+?) \| `(.+?):(\w+)` \|$", TABLE, re.MULTILINE)


@cache
def names_in(file: str) -> set[str]:
    tree = ast.parse((ROOT / "tests" / file).read_text("utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in tree.body if isinstance(node, functions)}


@pytest.mark.parametrize(("what", "code", "file", "test"), ROWS)
def test_each_row_of_the_page_names_existing_code_and_tests(
    what: str, code: str, file: str, test: str
) -> None:
    assert test in names_in(file), what
    module, _, name = code.strip("`").partition(":")
    if name:
        within = "" if module.startswith(("resources.", "benchmarks.")) else "factible_assets."
        assert reduce(getattr, name.split("."), import_module(f"{within}{module}")) is not None
    else:
        (view,) = re.findall("`(.+)`", code)
        assert (ROOT / "warehouse" / "views").is_dir()
        views = (ROOT / "warehouse" / "views").rglob("*.sql")
        assert any(f" {view}" in each.read_text("utf-8") for each in views)


def test_the_page_leaves_no_document_out() -> None:
    assert len(ROWS) == TABLE.partition("\n## ")[0].count("\n| ") - 1
    for document in ("Raw Evidence", "ECVS", "AgentFact", "Images", "Better"):
        assert f"| {document} |" in TABLE
