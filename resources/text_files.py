"""Reads text files, JSON and YAML, and words the problems in them with the line of each.

Every plain value of YAML stays text: the id `1e10` is no number, the title `No` no boolean; models
convert values.
"""

from __future__ import annotations

import codecs
import difflib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from resources.errors import SetupError

Place: TypeAlias = tuple[str | int, ...]
"""The keys and positions on the way to a value."""
Model = TypeVar("Model", bound=BaseModel)

_NULL: Final = "tag:yaml.org,2002:null"
_MAX_DEPTH: Final = 40
_Loader: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MAX_BYTES: Final = 16 * 1024 * 1024
_MAX_SHOWN: Final = 60
_MISSPELT: Final = ("extra_forbidden", "unexpected_keyword_argument")


@dataclass(frozen=True, slots=True)
class FileProblem:
    """A problem in a file. `line` counts from 1; None for the whole file."""

    file: Path
    line: int | None
    sentence: str

    def __str__(self) -> str:
        """Format like a compiler message, so that editors can jump to the place."""
        place = f"{self.file}:{self.line}" if self.line else str(self.file)
        return f"{place}: {self.sentence}"


class PlacedError(Exception):
    """A text cannot be read. `line` counts from 1; None for the whole file.

    `may_pass`: the file exists, but the system refuses to read it now.
    """

    def __init__(self, sentence: str, line: int | None = None, *, may_pass: bool = False) -> None:
        super().__init__(sentence)
        self.line = line
        self.sentence = sentence
        self.may_pass = may_pass

    def at(self, file: Path) -> FileProblem:
        return FileProblem(file, self.line, self.sentence)


@contextmanager
def errors_naming(file: Path, kind: type[Exception] = SetupError) -> Iterator[None]:
    """Turn PlacedError in a block into an error of some kind, with the file's name and line."""
    try:
        yield
    except PlacedError as error:
        raise kind(str(error.at(file))) from error


@contextmanager
def readable() -> Iterator[None]:
    """Turn errors of reading a text file in a block into PlacedError."""
    try:
        yield
    except FileNotFoundError as error:
        raise PlacedError("There is no such file. Check the path.") from error
    except OSError as error:
        raise PlacedError(
            f"The file cannot be read ({error.strerror}). Check its rights.", may_pass=True
        ) from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise PlacedError("The file is not UTF-8 here. Save it as UTF-8.", line) from error


def read_text(file: Path, most_bytes: int = MAX_BYTES) -> str:
    """Read a UTF-8 file. Raises PlacedError if it is missing, too large or unreadable."""
    with readable():
        if file.stat().st_size > most_bytes:
            raise PlacedError(f"The file is larger than {most_bytes >> 20} MB. Split it.")
        return file.read_bytes().decode("utf-8-sig")


def read_json(text: str, decode: Callable[[str], Any] = json.loads) -> Any:
    """Parse JSON. Raises PlacedError if it is malformed."""
    try:
        return decode(text)
    except (ValueError, RecursionError) as error:
        deep = "nested too deeply, or with a number of thousands of digits"
        why = getattr(error, "msg", None) or getattr(error, "reason", deep)
        problem = f"This is not JSON: {why}. Correct it."
        raise PlacedError(problem, getattr(error, "lineno", None)) from error


def quoted(value: object) -> str:
    """Return a hostile value for a sentence: quoted, on one line, shortened."""
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"


@dataclass(frozen=True, slots=True)
class Document:
    """The values of a YAML file (mappings, lists, texts, nulls) with their lines."""

    data: Any
    lines: dict[Place, int]

    def line(self, place: Place) -> int:
        """Return the line of a value, or of the nearest value that contains it, from 1."""
        for length in range(len(place), 0, -1):
            if place[:length] in self.lines:
                return self.lines[place[:length]]
        return self.lines.get((), 1)

    def at(self, place: Place) -> Any:
        value = self.data
        for step in place:
            value = value[step]
        return value

    def read_as(self, model: type[Model]) -> Model:
        """Convert the file to a model. Raises PlacedError with the first problem."""
        try:
            return model.model_validate({} if self.data is None else self.data)
        except ValidationError as error:
            # A misspelt key causes a missing one too; the misspelt one says more.
            detail = min(error.errors(), key=lambda detail: detail["type"] not in _MISSPELT)
            raise PlacedError(problem_words(detail, model), self.line(detail["loc"])) from error


def read_document(path: Path) -> Document:
    """Read a YAML file; do not change the cached result.

    Raises PlacedError: The file is missing, too large, not UTF-8, or not YAML.
    """
    return parse_document(read_text(path))


@lru_cache(maxsize=32)
def parse_document(text: str) -> Document:
    """Parse YAML; do not change the cached result. Raises PlacedError if it is malformed."""
    lines: dict[Place, int] = {}
    try:
        _refuse_aliases_and_depth(text)
        root = yaml.compose(text, Loader=_Loader)
        data = None if root is None else _value(root, (), lines)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = error.problem or error.context or "this is not YAML"
        raise PlacedError(
            f"This is not valid YAML: {reason}. Correct it.", mark.line + 1 if mark else None
        ) from error
    except yaml.reader.ReaderError as error:
        # libyaml counts the bytes of UTF-8, PyYAML's own reader counts characters.
        is_bytes = _Loader is not yaml.SafeLoader
        before = text.encode()[: error.position] if is_bytes else text[: error.position].encode()
        raise PlacedError(
            "There is a character here that YAML does not allow. Remove it.",
            before.count(b"\n") + 1,
        ) from error
    return Document(data, lines)


def _refuse_aliases_and_depth(text: str) -> None:
    """Raise PlacedError for nodes that would grow beyond the file or overflow PyYAML's C stack."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH:
            raise PlacedError("The file is nested too deeply here. Flatten it.", _line(event))
        if isinstance(event, yaml.AliasEvent):
            problem = "Aliases (*name) are not read in these files. Write the value out."
            raise PlacedError(problem, _line(event))


def _value(node: yaml.Node, place: Place, lines: dict[Place, int]) -> Any:
    """Return the value of a node, and record its line and those of the values inside."""
    lines.setdefault(place, _line(node))
    if isinstance(node, yaml.ScalarNode):
        return None if node.tag == _NULL and not node.style else node.value
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, (*place, at), lines) for at, item in enumerate(node.value)]
    mapping: dict[str, Any] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise PlacedError("A key here is not a word. Write key: value.", _line(key))
        if key.value in mapping:
            twice = f"The key {key.value!r} is written twice here. Remove one of the two."
            raise PlacedError(twice, _line(key))
        lines[(*place, key.value)] = _line(key)
        mapping[key.value] = _value(value, (*place, key.value), lines)
    return mapping


def _line(where: yaml.Event | yaml.Node) -> int:
    return where.start_mark.line + 1 if where.start_mark is not None else 1


@dataclass(kw_only=True)
class EntryReader:
    """Converts the entries of a document to models, and collects all problems."""

    file: Path
    document: Document
    problems: list[FileProblem] = field(default_factory=list)

    def entry(self, model: type[Model], data: object, place: Place) -> Model | None:
        """Return an entry as a model; None if it has problems."""
        try:
            return model.model_validate(data)
        except ValidationError as error:
            for detail in error.errors():
                self.report((*place, *detail["loc"]), problem_words(detail, model))
            return None

    def report(self, place: Place, sentence: str) -> None:
        self.problems.append(FileProblem(self.file, self.document.line(place), sentence))


def reason_of(detail: ErrorDetails) -> str:
    """Return the reason of a problem of pydantic, without pydantic's own introduction."""
    if detail["type"].startswith("date_"):
        return "write a day as 2026-01-31"
    return detail["msg"].removeprefix("Value error, ").replace("Input should", "it should")


def problem_words(detail: ErrorDetails, model: Any, name: str | None = None) -> str:
    """Return a sentence on a problem of pydantic, with the remedy. `name` defaults to the key."""
    place, value = [step for step in detail["loc"] if step != "[key]"], quoted(detail["input"])
    key = place[-1] if place else None
    name = name or (key if isinstance(key, str) else "")
    words = reason_of(detail)
    for step in place[:-1]:
        if isinstance(step, str) and (outer := _keys_of(model).get(step)):
            model = _model_in(outer.annotation) or model
    fields = _keys_of(model)
    match detail["type"]:
        case kind if kind in _MISSPELT:
            hint = did_you_mean(name, fields, f"Known keys: {', '.join(fields)}.")
            return f"{name!r} is not a key here. {hint}"
        case "missing":
            return f"{name} is missing. Add it."
        case "model_type" | "dataclass_type" | "dict_type":
            return f"{name or 'This'} is no mapping of keys to values. Correct it."
        case "tuple_type" | "list_type":
            return f"{name} is {value}, and no list. Make it one."
        case "string_too_short" if not detail["input"]:
            words = "it is empty; fill it in"
        case "string_pattern_mismatch" if name in fields and fields[name].description:
            words = str(fields[name].description)
    sentence = f"{words}{'' if words.endswith(('.', '?')) else '.'}"
    # Without a key, the problem is of the whole entry.
    return f"{name} is {value}: {sentence}" if name else f"{sentence[:1].upper()}{sentence[1:]}"


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """Suggest the nearest known name, ignoring case; without any, return `otherwise`."""
    folded = {word.casefold(): word for word in known}
    near = difflib.get_close_matches(name.casefold(), folded, n=1)
    return f"Did you mean {folded[near[0]]!r}?" if near else otherwise


def _keys_of(model: Any) -> dict[str, FieldInfo]:
    return {field.alias or name: field for name, field in model.__pydantic_fields__.items()}


def _model_in(annotation: Any) -> Any:
    """Return the model among the parameters of a type, or None."""
    if hasattr(annotation, "__pydantic_fields__"):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)


# --- Encodings ----------------------------------------------------------------------------------

BOMS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    # The UTF-32 marks begin with the UTF-16 ones, so they come first.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE_BYTES = 65_536
_MAX_CONTROL_SHARE = 0.01
_MIN_UTF16_ZERO_SHARE = 0.3
_TEXT_CONTROLS = frozenset(b"\t\n\r\f\x1b\x08")


class NotTextError(ValueError):
    """The bytes are no text in any known encoding."""


def decode_text(data: bytes, *, detect: bool = False) -> str:
    """Decode a text file: byte order mark, UTF-8, UTF-16 without a mark, then an older charset.

    In a UTF-8 file with a few damaged bytes, these become U+FFFD; another charset would damage
    every accent. The older charset is Windows-1252, or with `detect` the most likely one. `detect`
    also undoes the work of a tool that read UTF-8 as another charset, and saved that.

    Raises NotTextError: The file is binary, or several charsets are equally likely.
    """
    for mark, encoding in BOMS:
        if data.startswith(mark):
            text = data.decode(encoding, "replace").removeprefix("\ufeff")
            return _once_decoded(text).removeprefix("\ufeff") if detect else text
    sample = data[:_SAMPLE_BYTES]
    if b"\x00" in sample:
        # UTF-16 of a mostly Latin text without a mark: every other byte is zero.
        pairs = len(sample) // 2
        little, big = sample[1::2].count(0), sample[0::2].count(0)
        if min(little, big) or max(little, big) < max(1, _MIN_UTF16_ZERO_SHARE * pairs):
            raise NotTextError("the file contains zero bytes")
        text = data.decode("utf-16-le" if little > big else "utf-16-be", "replace")
        _refuse_controls([ord(character) for character in text[:_SAMPLE_BYTES]])
        return text
    _refuse_controls(sample)
    with suppress(UnicodeDecodeError):
        text = data.decode("utf-8")
        return _once_decoded(text) if detect else text
    lenient = data.decode("utf-8", "replace")
    if sum(character > "\x7f" for character in lenient) > 2 * lenient.count("\ufffd"):
        return lenient
    charset = _likely_charset(data) if detect else "cp1252"
    with suppress(UnicodeDecodeError):
        return data.decode(charset)
    return data.decode(charset if detect else "latin-1", "replace")


_WESTERN_BYTES: Final = {byte: byte for byte in range(256)} | {
    ord(character): byte
    for byte in range(256)
    if (character := bytes([byte]).decode("cp1252", "ignore"))
}
"""The byte of each character of Latin-1 and Windows-1252.

Windows reads the five bytes without a character in Windows-1252 as those of Latin-1.
"""


def _once_decoded(text: str) -> str:
    """Return the text that a tool read with a wrong charset; any other text as it is."""
    if not text.isascii():
        with suppress(UnicodeError):
            return codecs.charmap_encode(text, "strict", _WESTERN_BYTES)[0].decode("utf-8")
    return text


_CHARSETS: Final = (
    "cp1252", "cp1251", "koi8-r", "cp866", "gb18030", "big5", "cp932", "euc-jp", "cp949", "cp1250",
    "iso8859-2", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp874", "macroman", "cp437",
    "cp850", "cp852", "iso8859-5", "iso8859-6", "iso8859-7", "iso8859-9",
)  # fmt: skip
"""Charsets of text files before UTF-8."""
_ODD = re.compile(
    r"[A-Za-z\u00c0-\u024f][\u0370-\u1fff]|[\u0370-\u1fff][A-Za-z\u00c0-\u024f]"
    r"|[^\W\d_][\u0080-\u00a9\u00ab-\u00b6\u00b8-\u00b9\u00bb-\u00bf\u2020-\u2122\ufffd](?=[^\W\d_])"
    r"|[a-z\u0430-\u044f][\u00c0-\u00d6\u00d8-\u00de\u0410-\u042f]"
)
"""Two scripts, or a symbol, or a capital inside a word: signs of a wrong charset."""
_FEW_FOREIGN_BYTES, _AS_LIKELY = 8, 0.95
"""Fewer bytes beyond ASCII need a clear winner, except the most frequent charset, cp1252."""


def _likely_charset(data: bytes) -> str:
    """Return the most likely charset. Raises NotTextError if several are about equally likely."""
    from chardet import detect_all  # noqa: PLC0415 - loads tables that few files need

    # Times and numbers are the same in every charset, so only the other lines count.
    foreign = b"\n".join(line for line in data.splitlines() if not line.isascii())[:_SAMPLE_BYTES]
    ranked = dict[str, tuple[int, float, str]]()  # by the text that the charset gives
    for guess in detect_all(foreign, include_encodings=_CHARSETS):
        with suppress(LookupError):
            name = codecs.lookup(guess["encoding"] or "").name
            text = foreign.decode(name, "replace")
            ranked.setdefault(text, (len(_ODD.findall(text)), -guess["confidence"], name))
    if not ranked:
        raise NotTextError("its character set is unknown; save it as UTF-8")
    (least, rank, best), *others = sorted(ranked.values())
    rivals = [name for odd, other, name in others if odd == least and other < _AS_LIKELY * rank]
    if rivals and best != "cp1252" and sum(byte > 127 for byte in foreign) < _FEW_FOREIGN_BYTES:  # noqa: PLR2004
        raise NotTextError(f"its character set could be {best} or {rivals[0]}; save it as UTF-8")
    return best


def _refuse_controls(codes: Sequence[int]) -> None:
    controls = sum(code < ord(" ") and code not in _TEXT_CONTROLS for code in codes)
    if controls > _MAX_CONTROL_SHARE * len(codes):
        raise NotTextError("the file is full of control characters")
