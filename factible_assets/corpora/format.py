"""The format of a corpus file, entry by entry.

What belongs here: the models of what is written, the rules of one entry, the JSON Schema. What
does not: files and lines (reading.py), YAML (lines.py).
"""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from factible_assets.config import SearchConfig
from factible_assets.records import Score, Seconds, Stance
from resources.transcripts.youtube_ids import NotAVideoLinkError, video_id_of

_VIDEO_ID = re.compile(r"[A-Za-z0-9_.\-]{1,128}")
_ID_RULE = "letters, digits, hyphens, underscores and single dots, at most 128"


class CorpusError(Exception):
    """A corpus cannot be read or written. The message names the file, the line and the remedy."""

    # Where it is imported from, which is what tracebacks and lists of errors should name.
    __module__ = "factible_assets.corpora"


def _lower(value: object) -> object:
    return value.strip().lower() if isinstance(value, str) else value


class Entry(BaseModel):
    """The base of everything that is written in a corpus file: strict about its keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ClaimEntry(Entry):
    """A claim that a person found in the video, with what that person concluded."""

    text: str = Field(min_length=1, description="The claim, in a sentence of its own.")
    checkable: bool = Field(default=True, description="Whether evidence could decide it.")
    importance: Score | None = Field(
        default=None, description="How much the video's thesis rests on it, from 0 to 1."
    )
    stance: Annotated[Stance | None, BeforeValidator(_lower)] = Field(
        default=None, description="What the evidence says of the claim."
    )
    reasoning: str | None = Field(default=None, description="Why, with sources.")


class VideoEntry(Entry):
    """One video of a corpus file."""

    id: str | None = Field(
        default=None, description=f"The partition key: {_ID_RULE}. Derived from a YouTube url."
    )
    url: str | None = Field(default=None, description="Where the video can be watched.")
    title: str | None = None
    channel: str | None = None
    language: str | None = Field(default=None, description="A language tag, such as en or pt-BR.")
    category: str | None = None
    tags: tuple[str, ...] = ()
    published_on: date | None = None
    duration_seconds: Seconds | None = None
    notes: str | None = None
    web: str | None = Field(default=None, description="Overrides the corpus's web.")
    transcript: str | None = Field(
        default=None, description="A transcript file, relative to this file."
    )
    claims: tuple[ClaimEntry, ...] | None = Field(
        default=None, description="Annotated ground truth."
    )
    ground_truth: str | None = Field(
        default=None, description="A YAML file with the claims instead, relative to this file."
    )

    @field_validator("web")
    @classmethod
    def _web_is_known(cls, value: str | None) -> str | None:
        return None if value is None else _checked_web(value)

    @model_validator(mode="after")
    def _has_one_identity_and_one_ground_truth(self) -> Self:
        if self.claims is not None and self.ground_truth is not None:
            raise ValueError("give the claims here or in a ground_truth file, not in both")
        _ = self.video_id
        return self

    @property
    def video_id(self) -> str:
        """The partition key: the given id, else the one in the YouTube URL."""
        derived = None
        if self.url is not None:
            try:
                derived = video_id_of(self.url)
            except NotAVideoLinkError as error:
                if self.id is None:
                    raise ValueError(f"{error} Or give an id beside the url.") from error
        if self.id is None:
            if derived is None:
                raise ValueError("a video needs an id, or a YouTube url that contains one")
            return derived
        if not is_usable_id(self.id):
            raise ValueError(f"the id {self.id!r} is not usable: {_ID_RULE}")
        if derived is not None and derived != self.id:
            raise ValueError(f"the id is {self.id!r}, and the url is that of {derived!r}")
        return self.id


class CorpusFile(Entry):
    """A whole corpus file."""

    corpus: str | None = Field(default=None, description="The name; by default the file's.")
    description: str | None = None
    web: str = Field(default="auto", description=SearchConfig.model_fields["web"].description)
    videos: tuple[VideoEntry, ...] = ()

    @field_validator("web")
    @classmethod
    def _web_is_known(cls, value: str) -> str:
        return _checked_web(value)


def _checked_web(value: str) -> str:
    try:
        return SearchConfig(web=value).web
    except ValidationError as error:
        raise ValueError("web is one of auto, live, archive, archive:NAME and miniature") from error


def is_usable_id(video_id: str) -> bool:
    """Tell whether an id can be a partition key and a file name on every system."""
    return (
        _VIDEO_ID.fullmatch(video_id) is not None
        and ".." not in video_id
        and video_id.strip(".") != ""
    )


def corpus_json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a corpus file, for editors that check while one types."""
    schema = CorpusFile.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "Corpus"
    return schema
