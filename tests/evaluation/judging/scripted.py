"""A scripted judge on loopback, in the wire format of a real service.

It takes the criterion from the system prompt and its quote from the fenced data.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from factible_assets.evaluation.judging.judge import PROMPTS, RUBRICS
from factible_assets.reasoners.llm.prompts import load_prompt
from tests.resources.llm.servers import Dialect, depending, say
from tests.servers import Behaviour

REASON = "The quoted words carry it."


def criterion_of(body: dict[str, Any]) -> str:
    """Return the criterion that a request asks for."""
    system = body["messages"][0]["content"]
    (name,) = (
        each.name for each in RUBRICS if system.startswith(load_prompt(each.name, PROMPTS).system)
    )
    return name


def data_of(body: dict[str, Any]) -> list[str]:
    """Return the pieces of data in a request, without fence and bars."""
    user = body["messages"][1]["content"]
    marker = re.match(r"Marker of this message: (\w+)", user)
    assert marker is not None
    pieces = re.findall(
        rf"<<<DATA {marker[1]} .*?>>>\n(.*?)\n<<<END {marker[1]}>>>", user, re.DOTALL
    )
    return ["\n".join(line.removeprefix("| ") for line in piece.split("\n")) for piece in pieces]


def answer(body: dict[str, Any], score: int) -> dict[str, Any]:
    """Return an answer whose quote stands in the data."""
    return {"quote": data_of(body)[0].split("\n")[0], "reason": REASON, "score": score}


def scoring(
    score: Callable[[str], int] = lambda criterion: 1, dialect: Dialect = "openai"
) -> Behaviour:
    """Score each criterion as a function of its name says."""
    return depending(lambda body: say(dialect, answer(body, score(criterion_of(body)))))
