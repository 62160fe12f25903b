"""Refuses queries that compare a stance column with an unknown word.

Pages say "refuted", and the rows say `refutes`. DuckDB answers `stance = 'refuted'` with no rows,
also for an ENUM column, so the mistake would look like a finding.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import duckdb

from factible_assets.errors import FactibleError
from factible_assets.stances import STANCES
from factible_assets.wording import STANCE_WORDS, plain
from resources.statements import statements

_SQL = statements("factible_assets.cli", "sql.sql")
_COMPARES = {f"COMPARE_{each}" for each in ("EQUAL", "NOTEQUAL", "IN", "NOT_IN")}
_ROWS_SAY = {words: stance for stance, words in STANCE_WORDS.items()}


def refuse_unknown_stances(query: str, parameters: Mapping[str, Any]) -> None:
    """Raise FactibleError if a query compares a stance column with a word that is no stance.

    Stance columns are `stance` and `…_stance`, unless the query defines a column of that name. The
    function ignores queries that DuckDB cannot parse.
    """
    with duckdb.connect() as parser:
        try:
            row = parser.execute(_SQL["parsed"], {"query": query}).fetchone()
            tree = json.loads(row[0]) if row else None
        except (duckdb.Error, RecursionError):
            return
    nodes = list(_nodes(tree))
    own = {
        str(node["alias"]).casefold()
        for node in nodes
        if node.get("alias") and node["alias"] not in (node.get("column_names") or ())
    }
    own |= {str(each).casefold() for node in nodes for each in node.get("column_name_alias") or ()}
    for node in nodes:
        if str(node.get("type")) not in _COMPARES:
            continue
        sides = [node.get("left"), node.get("right"), *(node.get("children") or ())]
        compared = [side for side in sides if isinstance(side, dict)]
        columns = {
            str(side["column_names"][-1]).casefold()
            for side in compared
            if side.get("class") == "COLUMN_REF"
        } - own
        column = next((each for each in columns if f"_{each}".endswith("_stance")), None)
        for word in _words(compared, parameters) if column else ():
            if word not in STANCES:
                meant = _ROWS_SAY.get(word.casefold())
                hint = f"Write '{meant}'; the stances" if meant else "Write one of the stances"
                raise FactibleError(
                    f"The column {column} never holds '{plain(word, 40)}'.",
                    f"{hint}: {', '.join(STANCES)}. An incomplete verdict has NULL.",
                )


def _words(sides: list[dict[str, Any]], parameters: Mapping[str, Any]) -> Iterator[str]:
    """Yield the constants and parameters of a comparison that are texts."""
    for side in sides:
        if side.get("class") == "CONSTANT":
            value = side["value"].get("value")
        else:
            value = parameters.get(str(side.get("identifier")))
        if isinstance(value, str):
            yield value


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield every object of a parsed query, without recursion: queries may nest deeply."""
    waiting = [tree]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            yield each
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each
