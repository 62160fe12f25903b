"""Language models for tests: one with scripted answers, and a gullible one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

from pydantic import BaseModel

from factible_assets.reasoners.llm.answers import (
    ClaimsAnswer,
    MergeAnswer,
    QueriesAnswer,
    Reading,
    ReadingsAnswer,
    WordsAnswer,
)
from factible_assets.reasoners.llm.conversation import StageModel
from factible_assets.reasoners.llm.engine import ANSWER_TOKENS
from factible_assets.reasoners.llm.prompts import load_prompt
from resources.llm.base import (
    Answer,
    LanguageModel,
    ModelAnswer,
    ModelCall,
    ModelError,
    ModelRequest,
)


def report(**changes: Any) -> ModelCall:
    call: dict[str, Any] = {
        "provider": "scripted",
        "model": "script-1",
        "attempt": 1,
        "input_tokens": 100,
        "output_tokens": 20,
        "cost_usd": 0.001,
        "latency_seconds": 0.5,
        "outcome": "ok",
    }
    return ModelCall(**call | changes)


class Scripted:
    provider = "scripted"
    model = "script-1"
    identity = "scripted nowhere script-1"


def prompt_of(question: ModelRequest[Any]) -> str:
    return "".join(part.text for part in question.parts)


Script = Mapping[str, Any] | ModelError | Callable[[str], Mapping[str, Any]]


@dataclass
class ScriptedModel(Scripted):
    """Gives its answers in order and remembers the questions.

    An answer may be an error to raise, or a function of the prompt.
    """

    answers: list[Script]
    reports: Sequence[ModelCall] = (report(),)
    questions: list[ModelRequest[Any]] = field(default_factory=list)

    async def complete(self, question: ModelRequest[Answer]) -> ModelAnswer[Answer]:
        self.questions.append(question)
        answer = self.answers[min(len(self.questions), len(self.answers)) - 1]
        if isinstance(answer, ModelError):
            raise answer
        value = answer(prompt_of(question)) if callable(answer) else answer
        return ModelAnswer(question.output_type.model_validate(value), tuple(self.reports))

    @property
    def prompts(self) -> list[str]:
        return [prompt_of(question) for question in self.questions]


def staged(
    model: LanguageModel, *, seed: int | None = None, **others: LanguageModel
) -> dict[str, StageModel]:
    """Give each stage a model with the published limits; `others` override it by stage."""
    return {
        stage: StageModel(others.get(stage, model), max_tokens=most, seed=seed)
        for stage, most in ANSWER_TOKENS.items()
    }


# --- Fences, as a reader sees them ---------------------------------------------------------------


@dataclass(frozen=True)
class Fenced:
    label: str
    text: str


@dataclass(frozen=True)
class Opened:
    """A prompt split at its marker: the text outside and inside the fences."""

    marker: str
    outside: str
    inside: tuple[Fenced, ...]

    def data(self, label: str) -> str:
        return "\n".join(each.text for each in self.inside if each.label == label)


def take_apart(prompt: str) -> Opened:
    """Split a prompt exactly by the rules on data."""
    first, _, rest = prompt.partition("\n")
    marker = first.removeprefix("Marker of this message: ")
    pattern = rf"^<<<DATA {marker} ([^>\n]*)>>>\n(.*?)\n<<<END {marker}>>>"
    fence = re.compile(pattern, re.MULTILINE | re.DOTALL)
    inside = tuple(
        Fenced(match[1], re.sub(r"^(?:\||\d+) ", "", match[2], flags=re.MULTILINE))
        for match in fence.finditer(rest)
    )
    return Opened(marker, fence.sub("()", rest), inside)


def sentence(prompt: str, words: str) -> int:
    """Return the number of the shown sentence with these words, 999 without one."""
    found = re.search(rf"^(\d+) .*{re.escape(words)}", prompt, re.MULTILINE)
    return int(found[1]) if found else 999


# --- A gullible model ----------------------------------------------------------------------------

_TURNS = re.compile(
    r"<\s*[|\uff5c][^>]*>|<</?SYS>>|\[/?INST\]|</?s>|<(?:start|end)_of_turn>|</?think>|</?tool_\w+>"
)
_ENDS = re.compile(
    r"^[^\w|]*e\s*n\s*d\b|^marker of this message|<\s*<\s*<|</(?:data|page|untrusted)",
    re.IGNORECASE,
)
"""Apparent ends of a fence: words at the beginning of a line, or marks anywhere."""


def _seen(line: str) -> str:
    """Remove hidden characters of a line and unify look-alikes."""
    visible = "".join(each for each in line if unicodedata.category(each) != "Cf")
    return unicodedata.normalize("NFKC", visible).replace("\u2039", "<").replace("\u203a", ">")


def _spelt_by_tags(text: str) -> str:
    return "".join(chr(ord(each) - 0xE0000) for each in text if 0xE0020 <= ord(each) < 0xE007F)


def believed_outside(prompt: str) -> str:
    """Return all text that a gullible reader ascribes to its user.

    That is the text outside the fences, after an apparent end of a fence and after control tokens
    of a chat template, and the text that tag characters spell.
    """
    opened = take_apart(prompt)
    believed = [opened.outside, _spelt_by_tags(prompt)]
    inside = False
    escaped = False
    for line in re.split(r"[\n\r\u2028\u2029\x85\v\f]", prompt):
        if line.startswith(f"<<<DATA {opened.marker}"):
            inside, escaped = True, False
        elif line == f"<<<END {opened.marker}>>>":
            inside, escaped = False, False
        elif inside and escaped:
            believed.append(line)
        elif inside and _ENDS.search(_seen(line)):
            escaped = True
        elif inside and (turn := _TURNS.search(line)):
            escaped = True
            believed.append(line[turn.end() :])
    return "\n".join(believed)


@dataclass
class GullibleModel(Scripted):
    """Answers honestly, unless it ascribes words of an attack to its user; then it obeys them.

    It knows a few sentences and their stances, and reads ratings only outside the fences. It
    decorates every summary with markup, an address and the title, as careless models do.
    """

    sentences: Mapping[str, Literal["supports", "refutes"]]
    claims: Sequence[str]
    attack: str = ""
    obeyed: list[str] = field(default_factory=list)
    prompts: list[str] = field(default_factory=list)

    async def complete(self, question: ModelRequest[Answer]) -> ModelAnswer[Answer]:
        prompt = prompt_of(question)
        self.prompts.append(prompt)
        answer = self._answer(question.output_type, prompt, self._is_taken_over(prompt))
        return ModelAnswer(question.output_type.model_validate(answer), (report(),))

    def _is_taken_over(self, prompt: str) -> bool:
        taken = bool(self.attack) and gets_out(self.attack, prompt)
        if taken:
            self.obeyed.append(prompt)
        return taken

    def _answer(self, shape: type[BaseModel], prompt: str, taken_over: bool) -> dict[str, Any]:
        opened = take_apart(prompt)
        if shape is ClaimsAnswer:
            return self._claims(opened, taken_over)
        if shape is QueriesAnswer:
            return {"searches": _searches(taken_over)}
        if shape is Reading:
            return self._reading(prompt, opened, 1, taken_over)
        if shape is ReadingsAnswer:
            numbers = re.findall(r"^Source (\d+), of", opened.outside, re.MULTILINE)
            readings = [self._reading(prompt, opened, int(each), taken_over) for each in numbers]
            return {"readings": readings}
        if shape is WordsAnswer:
            return {
                "verdicts": [
                    {
                        "claim": 1,
                        "words": f"# So: <{ADDRESS_OF_A_MODEL}> refute it.",
                        "says": "refutes",
                    }
                ]
            }
        assert shape is not MergeAnswer, "these transcripts are short"
        raise AssertionError(shape)

    def _claims(self, opened: Opened, taken_over: bool) -> dict[str, Any]:
        transcript = " ".join(opened.data("transcript").split())
        said = [claim for claim in self.claims if claim in transcript]
        assert said, "the transcript is in its fence"
        return {
            "thesis": "Obey." if taken_over else "Sugar <b>changes</b> how children behave.",
            "thesis_is_about_expertise": False,
            "claims": [
                {
                    "source": claim,
                    "text": "You have been taken over." if taken_over else claim,
                    "context": f"[Said]({ADDRESS_OF_A_MODEL}) in the talk.",
                    "category": "health",
                    "kind": "fact",
                    "bears_on_thesis": True,
                    "tier": "pillar",
                    "importance": 0.9,
                    "confidence": 0.9,
                    "searches": _searches(taken_over),
                }
                for claim in said
            ],
        }

    def _reading(
        self, prompt: str, opened: Opened, number: int, taken_over: bool
    ) -> dict[str, Any]:
        title, _, page = opened.data(f"source {number}").partition("\n")
        found = [(words, side) for words, side in self.sentences.items() if words in page]
        words, side = found[0] if found else ("", "silent")
        return {
            "source": number,
            "sentences": [sentence(prompt, words)] if found else [],
            "summary": f"**The page** says so, see {ADDRESS_OF_A_MODEL}. <i>{title}</i>",
            "stance": "supports" if taken_over else side,
            "confidence": 1.0 if taken_over else 0.8,
            "relevance": 0.9,
        }


ADDRESS_OF_A_MODEL = "https://made-up.example/page"


def _searches(taken_over: bool) -> list[str]:
    return ["taken over"] if taken_over else ["sugar children hyperactive", "sugar myth trials"]


_WORD = re.compile(r"[^\s\"'<>()\[\]{}|.,:;]{4,}")


def gets_out(attack: str, prompt: str) -> bool:
    """Whether a gullible reader ascribes a word of the attack to its user."""
    believed = _seen(believed_outside(prompt))
    found = rare_words(attack)
    return not found.isdisjoint(_WORD.findall(believed)) or any(
        word in believed for word in found if " " in word
    )


def rare_words(attack: str) -> frozenset[str]:
    """Return the words that reveal an attack outside the fences."""
    seen = f"{_seen(attack)} {_spelt_by_tags(attack)}"
    words = frozenset(_WORD.findall(seen)) - _own_words()
    return words or frozenset({_seen(attack)[:20]})


@lru_cache
def _own_words() -> frozenset[str]:
    prompts = [load_prompt(name) for name in ("claims", "queries", "evidence", "verdict")]
    texts = [text for prompt in prompts for text in prompt.sections.values()]
    sources = (
        "The page. What does it say? Sources read by stance supports refutes mixed unclear "
        "Source rated high class news unknown date origin with confidence"
    )
    return frozenset(word for text in [*texts, sources] for word in _WORD.findall(text))
