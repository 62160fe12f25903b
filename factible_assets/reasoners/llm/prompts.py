"""Prompt files, their places, and the fence around untrusted text.

A prompt file opens with front matter (its `version`). Sections follow under headings of the first
level: `System`, `User`, and others such as `Merge` or `Repair`. In a system section,
`{{data_rules}}` or another name ending in `rules` inserts the file of that name. In other sections,
each question fills `{{other_names}}`.

Three defences work together, because none is enough alone:

- The marker of the fence begins the SHA-256 of all untrusted text in the prompt. No text can
  contain its own marker, because it would be a fixed point of the hash. The same question is still
  the same prompt, which a cache can answer.
- Every fenced line begins with a bar or a number, so no text can begin a line with a false end of
  the fence or a false speaker (Hines et al., 2024, "Defending Against Indirect Prompt Injection
  Attacks With Spotlighting", found such marking most helpful).
- Tags and control tokens lose their first bracket; invisible and direction-changing characters
  disappear.
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

from factible_assets.records.tables import Claim, Evidence, Video
from factible_assets.stages.ports import ClaimDraft
from factible_assets.stages.quotes import QuoteFinder
from resources.llm.base import Part

PROMPTS = Path(__file__).resolve().parent / "prompts"

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
"""Begins every fenced line that has no number."""

OMISSION = "[…]"
"""Stands for omitted text."""

_MARKER_DIGITS = 9
"""Decimal digits: vocabularies have tokens for three of them, but hardly any for hexadecimal."""
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
    """Untrusted text under a label of ours; if `trimmable`, it may lose its end.

    `marks` replace the bars before its lines: numbers that an answer can refer to.
    """

    label: str
    text: str
    trimmable: bool = False
    marks: tuple[str, ...] = ()


Piece = str | Data
"""A piece of a prompt: our own words as `str`, all other text as `Data`."""


class ShownText:
    """A text as the model sees it, with the raw offset of each character."""

    def __init__(self, raw: str) -> None:
        self._raw = raw

    @cached_property
    def _shown(self) -> list[tuple[str, int]]:
        return [(shown, at) for at, raw in enumerate(self._raw) if (shown := visible(raw))]

    @cached_property
    def text(self) -> str:
        return _disarmed("".join(character for character, _ in self._shown))

    @cached_property
    def _finder(self) -> QuoteFinder:
        return QuoteFinder(self.text)

    def find(self, quote: str) -> tuple[int, int] | None:
        """Return the raw offsets of a quote of the shown text, None if the text lacks it.

        Ignores the differences that `QuoteFinder` ignores, and bars at the beginning of lines.
        """
        unmarked = re.sub(rf"(?:^|\s+){re.escape(LINE_MARK.strip())}\s", " ", quote).strip()
        span = self._finder.find(quote) or self._finder.find(unmarked)
        return span and (self._shown[span[0]][1], self._shown[span[1] - 1][1] + 1)


def fenced(pieces: Sequence[Piece]) -> tuple[Part, ...]:
    """Announce the marker, then put every untrusted piece into a fence.

    Only fenced text is trimmable, never the fence.
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
    """Replace the brackets of possible fences, tags and turns; the length stays the same."""
    text = _BRACKET_RUN.sub(lambda run: run[0].translate(_ROUND), text)
    return _TURN_TOKEN.sub("(", _TAG.sub("(", text))


def visible(character: str) -> str:
    """Return the character, a line break, a replacement, or nothing."""
    if character.isascii() and character.isprintable():
        return character
    if character in _LINE_BREAKS:
        return "\n"
    if character == "\t":
        return " "
    category = unicodedata.category(character)
    if category == "Zs":
        return " "
    # Variation selectors can hide whole messages.
    variant = "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"
    if category in {"Cc", "Cf"} or variant:
        return ""
    return "\ufffd" if category in {"Cs", "Co", "Cn"} else character


# --- Files --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt. `version` holds the version of the file and the beginning of its SHA-256."""

    name: str
    version: str
    system: str
    sections: Mapping[str, str]

    def places(self, section: str) -> set[str]:
        return {place["name"] for place in _PLACE.finditer(self.sections[section])}

    def fill(self, section: str, **values: Piece | Sequence[Piece]) -> tuple[Part, ...]:
        """Fill a section: strings unchanged, Data in fences.

        Raises ValueError if the names do not match the places of the section.
        """
        self._require_places(section, values)
        pieces: list[Piece] = []
        for at, part in enumerate(_PLACE.split(self.sections[section])):
            piece = values[part] if at % 2 else part
            pieces += [piece] if isinstance(piece, str | Data) else piece
        return fenced(pieces)

    def fill_lines(self, section: str, **values: str) -> tuple[Part, ...]:
        """Fill a section with untrusted texts, each on the line of its place.

        For models that are too small to respect a fence. No text can begin a line.

        Raises ValueError if the names do not match the places of the section.
        """
        self._require_places(section, values)
        lines = {name: " ".join(ShownText(text).text.split()) for name, text in values.items()}
        return (Part(_PLACE.sub(lambda place: lines[place["name"]], self.sections[section])),)

    def _require_places(self, section: str, values: Mapping[str, object]) -> None:
        places = self.places(section)
        if places != set(values):
            raise ValueError(
                f"Section {section} of the prompt {self.name} has the places "
                f"{sorted(places)} and was given {sorted(values)}."
            )


@lru_cache
def load_prompt(name: str, folder: Path | None = None) -> Prompt:
    """Read a prompt and insert the rules that several prompts share.

    A file that `folder` lacks is read from `PROMPTS`. Raises ValueError if a file is malformed.
    """
    folder = folder or PROMPTS
    number, body = _read(name, folder)
    body = _RULES.sub(lambda rules: _read(rules["name"], folder)[1].strip(), body)
    digest = hashlib.sha256(body.encode()).hexdigest()[:_HASH_DIGITS]
    parts = _SECTION.split(body)
    pairs = zip(parts[1::2], parts[2::2], strict=True)
    sections = {heading: words.strip() for heading, words in pairs}
    if not {"System", "User"} <= set(sections):
        raise ValueError(f"{name}.md lacks its System or its User section.")
    if _PLACE.search(sections["System"]):
        raise ValueError(f"The System section of {name}.md has places that nothing fills.")
    return Prompt(
        name=name,
        version=f"{name}-{number}-{digest}",
        system=sections.pop("System"),
        sections=sections,
    )


def check_prompts(folder: Path) -> None:
    """Compare the prompt files of a folder with ours.

    Raises ValueError: There is none, one replaces no prompt, or one has other sections or places.
    """
    files = sorted(folder.glob("*.md"))
    if not files:
        raise ValueError(f"{folder} has no prompt file (*.md). Copy one of {PROMPTS} and edit it.")
    for file in files:
        if not (PROMPTS / file.name).is_file():
            known = ", ".join(sorted(prompt.stem for prompt in PROMPTS.glob("*.md")))
            raise ValueError(f"{file} replaces no prompt. Name it after one of {known}.")
        if file.stem.endswith("rules"):
            _read(file.stem, folder)
            continue
        custom, original = load_prompt(file.stem, folder), load_prompt(file.stem)
        for section in original.sections:
            places = original.places(section)
            if section not in custom.sections or custom.places(section) != places:
                names = ", ".join(sorted(places)) or "none"
                raise ValueError(f"{file} needs a section {section} with the places {names}.")


def _read(name: str, folder: Path) -> tuple[str, str]:
    path = folder / f"{name}.md"
    if not path.is_file():
        path = PROMPTS / path.name
    match = _FILE.match(path.read_text(encoding="utf-8"))
    if match is None:
        raise ValueError(
            f"{path.name} does not open with front matter: a line such as version: 1 between two "
            "lines of ---."
        )
    return match["version"], match["body"]


# --- Material -----------------------------------------------------------------------------------


def claim_data(
    claim: Claim | ClaimDraft, channel: str | None = None, speaker: str | None = None
) -> Data:
    """Return a claim with its context, and with the given speaker and channel."""
    lines = [
        claim.text,
        claim.context and f"Context: {claim.context}",
        speaker and f"Speaker: {speaker}",
        channel and f"Channel: {channel}",
    ]
    return Data("claim", "\n".join(cut(" ".join(line.split())) for line in lines if line))


def claim_pieces(claim: Claim, video: Video | None = None) -> tuple[Piece, ...]:
    """Return a claim with its announcement, and with the date and channel of its video if given."""
    if video is None:
        return ("The claim:\n", claim_data(claim, speaker=claim.speaker))
    when = f", from a video of {video.published_on}" if video.published_on else ""
    return (f"The claim{when}:\n", claim_data(claim, video.channel, claim.speaker))


def source_pieces(
    rows: Mapping[int, Evidence],
    facts: Callable[[int, Evidence], str],
    words: Callable[[Evidence], Iterable[str]],
    *,
    trimmable: bool = False,
) -> tuple[Piece, ...]:
    """Return our facts about numbered sources (`facts`), and in a fence their own words (`words`).

    The words of a source are one line, so that no text can forge a number.
    """
    listed = "\n".join(facts(number, row) for number, row in rows.items())
    lines = [
        " ".join([f"{number}. {row.domain}:", *filter(None, words(row))])
        for number, row in rows.items()
    ]
    return f"{listed}\n\nTheir words:\n", Data("sources", "\n".join(lines), trimmable)


def source_facts(number: int, row: Evidence) -> str:
    """Return our facts about one source: rating, class and date."""
    day = "" if row.published_on is None else f", {row.published_on.isoformat()}"
    return f"Source {number}: rated {row.rating}, {row.source_class}{day}"


def one_line(text: str | None, *, quoted: bool = False) -> str:
    """Return the words of a source on one line, shortened; with quotation marks if `quoted`."""
    line = cut(" ".join((text or "").split()))
    return f'"{line}"' if quoted and line else line


def in_language(video: Video, wish: str | None) -> str:
    """Describe the language of the answer: the reader's if set, else the claim's."""
    if wish is not None:
        return f"the reader's language ({wish}), whatever that of the claim"
    tag = video.language or ""
    return f"the claim's language ({tag})" if _LANGUAGE.fullmatch(tag) else "the claim's language"


def video_data(video: Video, claim: Claim | None = None) -> Data:
    """Return the title, channel, date and language of a video, if known.

    A title that only repeats the claim, as in a list of claims, is left out: models take it for
    evidence.
    """
    repeats = claim is not None and claim.text.startswith(video.title.rstrip(" .…"))
    facts = (
        ("Title", None if repeats else video.title),
        ("Channel", video.channel),
        ("Published", video.published_on and video.published_on.isoformat()),
        ("Language", video.language),
    )
    lines = [f"{name}: {title_line(text)}" for name, text in facts if text]
    return Data("video", "\n".join(lines) or "(unknown)")


def title_line(title: str) -> str:
    return cut(" ".join(title.split()), _LONGEST_TITLE)


def this_month() -> str:
    """Return the month, such as "May 2026"; with the day, the cache would expire daily."""
    return datetime.now(UTC).strftime("%B %Y")


def cut(text: str, characters: int = _MOST_CHARACTERS) -> str:
    """Cut a text after a word, so that no title or excerpt can fill a prompt."""
    if len(text) <= characters:
        return text
    return f"{text[:characters].rsplit(' ', 1)[0][:characters]} {OMISSION}"
