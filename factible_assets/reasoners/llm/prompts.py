"""Prompts: versioned files, what they are filled in with, and the fence around untrusted text.

What belongs here: the files' format and places; what a model is shown of a text, and the way back
from what it quotes to the raw text; the material that several prompts are given. What does not:
what a prompt says (prompts/*.md), what is believed of an answer (wording.py, stages.evidence).

A prompt file opens with front matter (its `version`), followed by sections under
headings of the first level: `System`, `User`, and what else the stage asks (`Merge`, `Repair`).
`{{data_rules}}` in a system section, or another name that ends so, is the file of that name;
`{{other_names}}` in the other sections are filled in per question.

Three lines of defence, because none holds alone:

- The fence's marker is the beginning of a SHA-256 over all untrusted text of the prompt. A text
  that held its own marker would be a fixed point of the hash; so nobody can write one, and still
  the same question is the same prompt, which a cache can answer.
- Every fenced line begins with a bar or a number. What looks like the end of the
  fence, or like another speaker, cannot begin a line (the marking of data that Hines et al., 2024,
  "Defending Against Indirect Prompt Injection Attacks With Spotlighting", found to help most).
- What a chat template, a parser or an eye could take for something else is shown in another way:
  tags and control tokens lose their first bracket, invisible and direction-changing characters
  are left out.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from itertools import chain, repeat
from pathlib import Path

from factible_assets.records import Claim, Evidence, Video
from factible_assets.stages.evidence import QuoteFinder
from factible_assets.stages.ports import ClaimDraft
from resources.llm.base import Part

PROMPTS = Path(__file__).resolve().parent / "prompts"
"""Where the prompt files lie."""

_FILE = re.compile(r"\A---\nversion: (?P<version>[1-9]\d*)\n---\n(?P<body>.*)\Z", re.DOTALL)
_SECTION = re.compile(r"^# (?P<name>[A-Z][a-z]+)$", re.MULTILINE)
_PLACE = re.compile(r"\{\{(?P<name>[a-z_]+)\}\}")
_RULES = re.compile(r"\{\{(?P<name>[a-z]+_rules)\}\}")
_HASH_DIGITS = 8

_LONGEST_TITLE = 300
_MOST_CHARACTERS = 600
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,3}")


# --- Fences -------------------------------------------------------------------------------------

LINE_MARK = "| "
"""What every fenced line begins with."""

OMISSION = "[…]"
"""Stands where text was left out."""

_MARKER_DIGITS = 15
"""Decimal ones: a vocabulary has a token for three of them, and hardly any for hexadecimal ones."""
_LINE_BREAKS = frozenset("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")
_OPENING = "<\u02c2\u1438\u2039\u226a\u22d8\u276e\u2770\u27e8\u27ea\u2991\u3008\u300a\ufe64\uff1c"
_CLOSING = ">\u02c3\u1433\u203a\u226b\u22d9\u276f\u2771\u27e9\u27eb\u2992\u3009\u300b\ufe65\uff1e"
_BRACKET_RUN = re.compile(rf"(?:[{_OPENING}][^\S\n]*){{3,}}|(?:[{_CLOSING}][^\S\n]*){{3,}}")
_TAG = re.compile(rf"[{_OPENING}](?=[{_OPENING}]?\s*[/|!?\uff5c\u2502]?\s*[^\W\d_])", re.UNICODE)
_TURN_TOKEN = re.compile(
    r"\[(?=\s*/?\s*(?:INST|SYS|SYSTEM|USER|ASSISTANT|TOOL\w*|AVAILABLE_TOOLS)\s*\])", re.IGNORECASE
)
_ROUND = str.maketrans(dict.fromkeys(_OPENING, "(") | dict.fromkeys(_CLOSING, ")"))


@dataclass(frozen=True, slots=True)
class Data:
    """Untrusted text with our own name for it. A trimmable one may lose its end.

    `marks` stand before its lines in place of bars: numbers by which an answer can name them.
    """

    label: str
    text: str
    trimmable: bool = False
    marks: tuple[str, ...] = ()


Piece = str | Data
"""A piece of a prompt: a `str` is our own words, `Data` anybody else's."""


class ShownText:
    """A text as a model is shown it, and where each shown character stands in the raw text."""

    def __init__(self, raw: str) -> None:
        self._raw = raw

    @cached_property
    def _shown(self) -> list[tuple[str, int]]:
        return [(shown, at) for at, each in enumerate(self._raw) if (shown := _visible(each))]

    @cached_property
    def text(self) -> str:
        """What the model is shown."""
        return _disarmed("".join(character for character, _ in self._shown))

    @cached_property
    def _finder(self) -> QuoteFinder:
        return QuoteFinder(self.text)

    def find(self, quote: str) -> tuple[int, int] | None:
        """Return the raw offsets of a quote of the shown text, None if it is not in it.

        What `QuoteFinder` forgives is forgiven, and so are the marks at the beginning of lines.
        """
        unmarked = re.sub(rf"(?:^|\s+){re.escape(LINE_MARK.strip())}\s", " ", quote).strip()
        for form in dict.fromkeys((quote, unmarked)):
            place = self._finder.find(form)
            if place is not None:
                return self._shown[place[0]][1], self._shown[place[1] - 1][1] + 1
        return None


def fenced(pieces: Sequence[Piece]) -> tuple[Part, ...]:
    """Put every untrusted piece into a fence and say first what the fence's marker is.

    The fence itself is never trimmable, only what stands in it.
    """
    shown = [ShownText(piece.text).text if isinstance(piece, Data) else None for piece in pieces]
    content, salt = "\x1f".join(text for text in shown if text is not None), 0
    marker = ""
    while not marker or marker in content:
        digest = hashlib.sha256(f"{salt}\x1f{content}".encode("utf-8", "replace"))
        number = int.from_bytes(digest.digest()) % 10**_MARKER_DIGITS
        marker, salt = f"{number:0{_MARKER_DIGITS}}", salt + 1
    parts = [Part(f"Marker of this message: {marker}\n\n")]
    for piece, text in zip(pieces, shown, strict=True):
        if isinstance(piece, Data) and text is not None:
            gap = "" if parts[-1].text.endswith("\n") else "\n"
            parts.append(Part(f"{gap}<<<DATA {marker} {piece.label}>>>\n"))
            marks = chain(piece.marks, repeat(""))
            marked = "\n".join(
                f"{f'{mark} ' if mark else LINE_MARK}{line}"
                for line, mark in zip(text.split("\n"), marks, strict=False)
            )
            parts.append(Part(marked, piece.trimmable))
            parts.append(Part(f"\n<<<END {marker}>>>"))
        elif isinstance(piece, str) and piece:
            gap = "\n" if parts[-1].text.endswith(">>>") and not piece.startswith("\n") else ""
            parts.append(Part(gap + piece))
    return tuple(parts)


def _disarmed(text: str) -> str:
    """Replace brackets of what looks like a fence, a tag or a turn; the length stays the same."""
    text = _BRACKET_RUN.sub(lambda run: run[0].translate(_ROUND), text)
    return _TURN_TOKEN.sub("(", _TAG.sub("(", text))


def _visible(character: str) -> str:
    """Return what is shown of one character: itself, a line break, a stand-in, or nothing."""
    if character.isascii() and character.isprintable():
        return character
    if character in _LINE_BREAKS:
        return "\n"
    if character == "\t":
        return " "
    category = unicodedata.category(character)
    if category == "Zs":
        return " "
    # What only varies the character before it: whole messages hide in these.
    variant = "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"
    if category in {"Cc", "Cf"} or variant:
        return ""
    return "\ufffd" if category in {"Cs", "Co", "Cn"} else character


# --- Files --------------------------------------------------------------------------------------


class PromptFileError(ValueError):
    """A prompt file that is malformed, or filled in with the wrong names."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt. `version` names the file's version and the beginning of its SHA-256."""

    name: str
    version: str
    system: str
    sections: Mapping[str, str]

    def places(self, section: str) -> set[str]:
        """Return the names of what a section has to be filled in with."""
        return {place["name"] for place in _PLACE.finditer(self.sections[section])}

    def fill(self, section: str, **values: Piece | Sequence[Piece]) -> tuple[Part, ...]:
        """Fill in a section. Strings are our own words and stand as they are; Data is fenced.

        PromptFileError: the names given are not those that the section has.
        """
        wanted = self.places(section)
        if wanted != set(values):
            raise PromptFileError(
                f"Section {section} of the prompt {self.name} has the places "
                f"{sorted(wanted)} and was given {sorted(values)}."
            )
        pieces: list[Piece] = []
        for at, part in enumerate(_PLACE.split(self.sections[section])):
            piece = values[part] if at % 2 else part
            pieces += [piece] if isinstance(piece, str | Data) else piece
        return fenced(pieces)

    def fill_lines(self, section: str, **values: str) -> tuple[Part, ...]:
        """Fill in a section with untrusted texts, each of which stays on the line of its place.

        For models that are too small to mind a fence. The words before a place are ours, and no
        text can begin a line of its own.

        Raises:
            PromptFileError: The names given are not those that the section has.
        """
        wanted = self.places(section)
        if wanted != set(values):
            raise PromptFileError(
                f"Section {section} of the prompt {self.name} has the places "
                f"{sorted(wanted)} and was given {sorted(values)}."
            )
        lines = {name: " ".join(ShownText(text).text.split()) for name, text in values.items()}
        return (Part(_PLACE.sub(lambda place: lines[place["name"]], self.sections[section])),)


@lru_cache
def load_prompt(name: str, folder: Path | None = None) -> Prompt:
    """Read the prompt of this name, with the rules that it shares with others filled in.

    `folder` is where it lies; what is not there is looked for among the prompts of the stages.
    Raises PromptFileError, which names the file, if it is malformed.
    """
    place = folder or PROMPTS
    number, body = _read(name, place)
    body = _RULES.sub(lambda rules: _read(rules["name"], place)[1].strip(), body)
    digest = hashlib.sha256(body.encode()).hexdigest()[:_HASH_DIGITS]
    parts = _SECTION.split(body)
    pairs = zip(parts[1::2], parts[2::2], strict=True)
    sections = {heading: words.strip() for heading, words in pairs}
    if not {"System", "User"} <= set(sections):
        raise PromptFileError(f"{name}.md lacks its System or its User section.")
    if _PLACE.search(sections["System"]):
        raise PromptFileError(f"The System section of {name}.md has places that nothing fills.")
    return Prompt(
        name=name,
        version=f"{name}-{number}-{digest}",
        system=sections.pop("System"),
        sections=sections,
    )


def _read(name: str, folder: Path) -> tuple[str, str]:
    """Return the version and the body of a prompt file."""
    path = folder / f"{name}.md"
    if not path.is_file():
        path = PROMPTS / path.name
    match = _FILE.match(path.read_text(encoding="utf-8"))
    if match is None:
        raise PromptFileError(
            f"{path.name} does not open with front matter: a line such as version: 1 between two "
            "lines of ---."
        )
    return match["version"], match["body"]


# --- Material -----------------------------------------------------------------------------------


def claim_data(claim: Claim | ClaimDraft, channel: str | None = None) -> Data:
    """Return a claim with what is known of its background. It was said by a stranger: data."""
    lines = [
        claim.text,
        claim.context and f"Context: {claim.context}",
        channel and f"Channel: {channel}",
    ]
    return Data("claim", "\n".join(cut(" ".join(line.split())) for line in lines if line))


def claim_pieces(claim: Claim, video: Video | None = None) -> tuple[Piece, ...]:
    """Return a claim after the words that announce it, and when and by whom it was said."""
    if video is None:
        return ("The claim:\n", claim_data(claim))
    when = f", from a video of {video.published_on}" if video.published_on else ""
    return (f"The claim{when}:\n", claim_data(claim, video.channel))


def source_pieces(
    rows: Mapping[int, Evidence],
    known: Callable[[int, Evidence], str],
    words: Callable[[Evidence], Iterable[str]],
    *,
    trimmable: bool = False,
) -> tuple[Piece, ...]:
    """Return what the rules know of numbered sources, and inside a fence their words.

    Each one's words are one line, so that no number is forged.
    """
    listed = "\n".join(known(number, row) for number, row in rows.items())
    said = [
        " ".join([f"{number}. {row.domain}:", *filter(None, words(row))])
        for number, row in rows.items()
    ]
    return f"{listed}\n\nTheir words:\n", Data("sources", "\n".join(said), trimmable)


def one_line(text: str | None, *, quoted: bool = False) -> str:
    """Return a source's words on one line, cut, and in quotation marks if there are any."""
    line = cut(" ".join((text or "").split()))
    return f'"{line}"' if quoted and line else line


def in_language(video: Video, wish: str | None) -> str:
    """Return what to write in: the reader's language, else the claim's, and which that is."""
    if wish is not None:
        return f"the reader's language ({wish}), whatever that of the claim"
    tag = video.language or ""
    return f"the claim's language ({tag})" if _LANGUAGE.fullmatch(tag) else "the claim's language"


def video_data(video: Video) -> Data:
    """Return what is known of a video, in its publisher's words: data."""
    known = (
        ("Title", video.title),
        ("Channel", video.channel),
        ("Published", video.published_on and video.published_on.isoformat()),
        ("Language", video.language),
    )
    lines = [f"{name}: {title_line(text)}" for name, text in known if text]
    return Data("video", "\n".join(lines) or "(unknown)")


def title_line(title: str) -> str:
    """Return a title on one line, of a bounded length."""
    return cut(" ".join(title.split()), _LONGEST_TITLE)


def this_month() -> str:
    """Return the present month, such as "May 2026": a day would ask every question anew daily."""
    return datetime.now(UTC).strftime("%B %Y")


def cut(text: str, characters: int = _MOST_CHARACTERS) -> str:
    """Cut a text at a word, so that no title or excerpt can fill a prompt."""
    if len(text) <= characters:
        return text
    return f"{text[:characters].rsplit(' ', 1)[0][:characters]} {OMISSION}"
