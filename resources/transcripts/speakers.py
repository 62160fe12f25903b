"""Separates the labels of speakers from the words: "ANNA:", "[Speaker 1]:", ">>" and dashes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from resources.transcripts.base import Caption
from resources.transcripts.plausibility import STOPS, folded

_NAME = r"(?:[^\W\d_a-z]|[a-z](?=[A-Z]))[^\s,;:!?()\[\]<>\"“”«»。\uff0c\uff1a\uff01\uff1f]*"
_BRACKETED = re.compile(  # "[Ann] Yes."
    r"^[\[(<\uff08【]([^\[\]()<>\uff08\uff09【】\n]{1,40})[\])>\uff09】]\s*(?=[^\s:\uff1a])",
    re.MULTILINE,
)
_HEAD = re.compile(r"\A([^\n]{1,60})\n(?=[^a-z])")  # a first line: "Ann\nYes."
_LABEL = re.compile(  # "ANNA: ", ">> Dr. Lee (host): "
    r"(?P<turn>>{2,}\s*|[-–]\s+)?(?P<open>[\[(])?"
    rf"(?P<name>{_NAME}(?:,?\s(?:[^\W\d]{{1,3}}\s){{0,2}}(?:{_NAME}|\#?\d{{1,3}})){{0,4}})"
    r"(?(open)[\])])(?:\s*\([^()]{1,30}\))?\s?[:\uff1a](?=\s|$|[^\x00-\x7f])\s*"
)
_TURN = re.compile(r"(?:>{2,}|[-–](?=[\s\w\[¿¡]))\s*")
_STATEMENT = re.compile(
    r"answer|claim|conclusion|correction|facts?|false|fiction|misconception|myth|note|question"
    r"|rating|reality|result|true|truth|verdict|warning"
)
"""Labels of statements, not of speakers."""
TERMINAL: Final = (*STOPS, ",", ";")
_MAX_LABEL, _NAME_WORDS, _NAME_LENGTH, _NEARLY = 60, 5, 40, 0.8
_FEW_LABELS, _LABELLED_SHARE = 2, 0.3


def label_of(line: str) -> re.Match[str] | None:
    return _LABEL.match(line[:_MAX_LABEL])


def name_of(words: str) -> str:
    """Return a name without marks, brackets and a remark: "Ann Lee" for "**Ann Lee (host):**"."""
    return re.sub(r"(?<=\S)\s*\([^()]*\)$", "", words.strip(" *_`:[]-–—|•·")).strip("() ")


def is_name(words: str) -> bool:
    name = name_of(words)
    return (
        0 < len(name) <= _NAME_LENGTH
        and len(name.split()) <= _NAME_WORDS
        and not name.endswith(TERMINAL)
        and not name[0].islower()
        and any(map(str.isalpha, name))
    )


def are_names(values: Sequence[str], least: int) -> bool:
    """Tell whether nearly all values are names, and recur or end with a colon."""
    names = [name_of(value) for value in values if is_name(value)]
    recur = len({*names}) < len(names) and len({*names}) <= max(2, 0.6 * len(names))
    return len(names) >= _NEARLY * least and (recur or all(v.endswith(":") for v in values))


def with_labels(captions: Sequence[Caption]) -> Sequence[Caption]:
    """Write "[Ann] Yes.", or names on lines of their own, as "Ann: Yes.".

    The names must recur, and begin many captions if in brackets, nearly all if on their own lines.
    """
    for pattern, share in ((_BRACKETED, _LABELLED_SHARE), (_HEAD, _NEARLY)):
        heads = [match[1] for caption in captions for match in pattern.finditer(caption.text)]
        several = len({*heads}) > 1 or len(heads) >= _NEARLY * len(captions)
        if several and len(heads) >= share * len(captions) and are_names(heads, len(heads)):
            texts = [pattern.sub(_as_label, caption.text) for caption in captions]
            return [replace(old, text=text) for old, text in zip(captions, texts, strict=True)]
    return captions


def _as_label(head: re.Match[str]) -> str:
    label = f"{name_of(head[1])}: "
    return label if label_of(label) else head[0]


def with_speakers(captions: Sequence[Caption]) -> list[Caption]:
    """Separate speaker labels from the texts. A label applies until the next one.

    A change of speaker splits a caption, and its time by the number of characters.
    """
    captions = with_labels(captions)
    timed = any(caption.start is not None for caption in captions)
    lines = [line for caption in captions for line in caption.text.split("\n")]
    named = {caption.speaker for caption in captions if caption.speaker}
    speakers = speakers_of(lines, timed=timed) | named
    divided: list[Caption] = []
    current: str | None = None
    for caption in captions:
        if caption.speaker is not None:
            current = None
        for part in _parts(caption, speakers, timed=timed):
            current = part.speaker if part.new_turn else current
            divided.append(replace(part, speaker=part.speaker or caption.speaker or current))
    return divided


def speakers_of(lines: Sequence[str], *, timed: bool) -> set[str]:
    """Return the labels of lines that name a speaker.

    Such a label follows ">>", is in capitals, recurs, or a third of all lines have one and some
    recur. Captions may all have one that does not recur. A label of words that the text also has in
    small letters must recur.
    """
    labels = [match for line in lines if (match := label_of(line))]
    counts = Counter(label["name"] for label in labels)
    text = " ".join(lines)
    everyday = {folded(word) for word in text.split() if word.islower()} if labels else set()
    marked = {label["name"] for label in labels if (label["turn"] or "").startswith(">")}
    has_case = sum(map(str.islower, text)) > sum(map(str.isupper, text))
    some_recur = len(counts) < len(labels) or (timed and len(labels) == len(lines))
    often = some_recur and len(labels) >= max(_FEW_LABELS, _LABELLED_SHARE * len(lines))

    def is_speaker(name: str) -> bool:
        words = [folded(word) for word in name.split()]
        recurs, is_everyday = counts[name] >= _FEW_LABELS, everyday.issuperset(words)
        is_sure = name in marked or (has_case and name.isupper())
        is_likely = (recurs and often) if is_everyday else (recurs or often)
        is_statement = any(map(_STATEMENT.fullmatch, (words[0], words[-1])))
        return (is_sure or is_likely) and not is_statement

    return set(filter(is_speaker, counts))


def _parts(caption: Caption, speakers: set[str], *, timed: bool) -> Iterator[Caption]:
    """Divide a caption where its lines begin with a label, ">>", or the dashes of a dialogue."""
    lines = caption.text.split("\n")
    dashes = sum(line[:1] in "-–" and _TURN.match(line) is not None for line in lines)
    is_dialogue = timed and (dashes > 1 or lines[0].startswith("- "))
    parts: list[tuple[str | None, bool, list[str]]] = [(None, caption.new_turn, [])]
    for line in lines:
        label, turn = label_of(line), _TURN.match(line)
        if label is not None and label["name"] in speakers:
            name, words = label["name"], line[label.end() :]
        elif turn is not None and (is_dialogue or turn[0].startswith(">")):
            name, words = None, line[turn.end() :]
        else:
            parts[-1][2].append(line)
            continue
        if not parts[-1][2]:
            del parts[-1]
        parts.append((name, True, [words] if words else []))
    # The time of each part is proportional to its characters.
    sizes = [sum(map(len, part_lines)) for _, _, part_lines in parts]
    length, total, at = caption.end - caption.begins, sum(sizes) or 1, 0
    for (name, is_new, part_lines), size in zip(parts, sizes, strict=True):
        start, end = caption.start, caption.end
        if start is not None and len(parts) > 1:
            start, end = (round(start + length * (n / total), 3) for n in (at, at + size))
        at += size
        text = "\n".join(part_lines)
        yield replace(caption, text=text, start=start, end=end, speaker=name, new_turn=is_new)
