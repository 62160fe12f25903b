"""The prompts: versioned files, read once, and filled in without anything being expanded twice.

What belongs here: the files' format and their places to fill in. What does not: what a prompt says
(prompts/*.md), how untrusted text is fenced (fences.py).

A prompt file opens with YAML front matter (`name`, `version`, `stage`), followed by sections under
headings of the first level: `System`, `User`, and what else the stage asks (`Merge`, `Repair`).
`{{data_rules}}` in a system section, or another name that ends so, is the file of that name;
`{{other_names}}` in the other sections are filled in per question.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from factible_assets.reasoners.llm.fences import Data, Piece, fenced
from resources.llm.base import Part

PROMPTS = Path(__file__).resolve().parent / "prompts"
"""Where the prompt files lie."""

StageName = Literal["claims", "queries", "evidence", "verdicts"]

_FILE = re.compile(r"\A---\n(?P<head>.*?)\n---\n(?P<body>.*)\Z", re.DOTALL)
_SECTION = re.compile(r"^# (?P<name>[A-Z][a-z]+)$", re.MULTILINE)
_PLACE = re.compile(r"\{\{(?P<name>[a-z_]+)\}\}")
_RULES = re.compile(r"\{\{(?P<name>[a-z]+_rules)\}\}")
_HASH_DIGITS = 8


class PromptFileError(ValueError):
    """A prompt file that is malformed, or filled in with the wrong names."""


class _Head(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    name: str = Field(pattern=r"^[a-z_]+$")
    version: int = Field(ge=1)
    stage: Literal["claims", "queries", "evidence", "verdicts", "judging", "all"]


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt. `version` names the file's version and the beginning of its SHA-256."""

    name: str
    version: str
    system: str
    sections: Mapping[str, str]

    def fill(self, section: str, **values: Piece | Sequence[Piece]) -> tuple[Part, ...]:
        """Fill in a section. Strings are our own words and stand as they are; Data is fenced.

        Raises:
            PromptFileError: The names given are not those that the section has.
        """
        template = self.sections[section]
        wanted = {place["name"] for place in _PLACE.finditer(template)}
        if wanted != set(values):
            raise PromptFileError(
                f"Section {section} of the prompt {self.name} has the places "
                f"{sorted(wanted)} and was given {sorted(values)}."
            )
        return fenced(list(_filled(template, values)))


def _filled(template: str, values: Mapping[str, Piece | Sequence[Piece]]) -> Iterator[Piece]:
    end = 0
    for place in _PLACE.finditer(template):
        yield template[end : place.start()]
        value = values[place["name"]]
        if isinstance(value, str | Data):
            yield value
        else:
            yield from value
        end = place.end()
    yield template[end:]


@lru_cache
def load_prompt(name: str, folder: Path | None = None) -> Prompt:
    """Read the prompt of this name, with the rules that it shares with others filled in.

    Args:
        name: The file's name without its suffix.
        folder: Where it lies, if not among the prompts of the stages. Rules that are not there are
            looked for among those.

    Raises:
        PromptFileError: The file is malformed; the message names it.
    """
    place = folder or PROMPTS
    head, body = _read(name, place)
    body = _RULES.sub(lambda rules: _read(rules["name"], place)[1].strip(), body)
    digest = hashlib.sha256(body.encode()).hexdigest()[:_HASH_DIGITS]
    sections = _sections(name, body)
    return Prompt(
        name=head.name,
        version=f"{head.name}-{head.version}-{digest}",
        system=sections.pop("System"),
        sections=sections,
    )


def _read(name: str, folder: Path) -> tuple[_Head, str]:
    path = folder / f"{name}.md"
    if not path.is_file():
        path = PROMPTS / path.name
    match = _FILE.match(path.read_text(encoding="utf-8"))
    if match is None:
        raise PromptFileError(f"{path.name} does not open with front matter between --- lines.")
    try:
        head = _Head.model_validate(yaml.safe_load(match["head"]))
    except (yaml.YAMLError, ValidationError) as error:
        raise PromptFileError(f"The front matter of {path.name} cannot be used: {error}") from error
    if head.name != name:
        raise PromptFileError(f"{path.name} calls itself {head.name}. Give both one name.")
    return head, match["body"]


def _sections(name: str, body: str) -> dict[str, str]:
    places = list(_SECTION.finditer(body))
    ends = [place.start() for place in places[1:]] + [len(body)]
    sections = {
        place["name"]: body[place.end() : end].strip()
        for place, end in zip(places, ends, strict=True)
    }
    if not {"System", "User"} <= set(sections):
        raise PromptFileError(f"{name}.md lacks its System or its User section.")
    if _PLACE.search(sections["System"]):
        raise PromptFileError(f"The System section of {name}.md has places that nothing fills.")
    return sections
