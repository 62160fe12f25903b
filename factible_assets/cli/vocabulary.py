"""Words that a question compares with a stance, though no stance is called so.

What belongs here: finding such words in a query before it is asked. What does not: asking it
(sql.py), the stances themselves (records.py), the words that pages use for them (wording.py).

Pages say "refuted" of a claim, and the rows say `refutes`. DuckDB answers `stance = 'refuted'` with
no rows, also for a column of type ENUM, so the mistake would look like a finding.
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
    """Refuse a query that compares a column of stances with a word that is none.

    The columns are `stance` and those whose names end with `_stance`, unless the query gives that
    name to a column of its own. A query that DuckDB cannot read is left for it to refuse.

    Raises FactibleError: It names the word and the stances.
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
                hint = f"Write '{meant}'" if meant else "Write one of its values"
                raise FactibleError(
                    f"The column {column} never holds '{plain(word, 40)}'.",
                    f"{hint}; the stances are {', '.join(STANCES)}. A verdict without one "
                    "has NULL.",
                )


def _words(sides: list[dict[str, Any]], parameters: Mapping[str, Any]) -> Iterator[str]:
    """Return the texts that stand on the sides of a comparison, or are given as parameters."""
    for side in sides:
        if side.get("class") == "CONSTANT":
            value = side["value"].get("value")
        else:
            value = parameters.get(str(side.get("identifier")))
        if isinstance(value, str):
            yield value


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield every object of a parsed query; a loop, as queries may be nested deeply."""
    waiting = [tree]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            yield each
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each
