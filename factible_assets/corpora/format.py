"""The format of a corpus file: the models of its entries, their rules, and the JSON Schema."""

from __future__ import annotations

import json
import re
from datetime import date
from typing import Annotated, Any, Literal, Self

from pydantic import AliasPath, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from factible_assets.config import Day, SearchConfig, Web
from factible_assets.errors import FactibleError
from factible_assets.records.tables import Count, Criterion, Rating, Score, Seconds, Stance
from resources.transcripts.youtube_ids import NotAVideoLinkError, video_id_of

_VIDEO_ID = re.compile(r"[A-Za-z0-9_.\-]{1,128}")
_ID_RULE = "letters, digits, hyphens, underscores and single dots, at most 128"


class CorpusError(FactibleError):
    """A corpus cannot be read or written. The message names file, line and remedy."""


def _lower(value: object) -> object:
    return value.strip().lower() if isinstance(value, str) else value


class Entry(BaseModel):
    """Base of all corpus models. Refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


GivenStance = Annotated[Stance | None, BeforeValidator(_lower)]
AnswerKind = Literal["extractive", "abstractive", "boolean", "unanswerable"]
"""The kind of an answer in relation to its source (AVeriTeC, arXiv:2305.13117, section 3)."""


class AnswerEntry(Entry):
    """An annotator's answer to a question, with its source."""

    text: str = Field(description="The answer; yes or no for a boolean one.")
    kind: Annotated[AnswerKind | None, BeforeValidator(_lower)] = Field(
        default=None, description="How the annotator took the answer from its source."
    )
    explanation: str | None = Field(default=None, description="Why yes, or why no.")
    source_url: str | None = None
    archived_url: str | None = Field(default=None, description="A stored copy of the source.")
    medium: str | None = Field(default=None, description="The kind of source, such as Web text.")


class QuestionEntry(Entry):
    """A question whose answers decide the claim."""

    text: str = Field(min_length=1)
    answers: tuple[AnswerEntry, ...] = ()


class PassageEntry(Entry):
    """A passage that annotators used to judge the claim."""

    source: str = Field(min_length=1, description="The URL or the title of the page.")
    text: str | None = Field(
        default=None, description="The passage; None if only its place is known."
    )
    place: str | None = Field(default=None, description="Where on the page, such as a line number.")
    stance: GivenStance = Field(
        default=None, description="The stance of this passage alone on the claim."
    )


GivenScore = Annotated[int, Field(ge=0, le=2)]


class ClaimEntry(Entry):
    """An annotated claim of the video."""

    text: str = Field(min_length=1, description="The claim, in a sentence of its own.")
    checkable: bool = Field(default=True, description="Whether evidence could decide it.")
    importance: Score | None = Field(
        default=None, description="How much the video's thesis depends on it, from 0 to 1."
    )
    stance: GivenStance = Field(default=None, description="The stance of the evidence as a whole.")
    reasoning: str | None = Field(default=None, description="Why, with sources.")
    label: str | None = Field(
        default=None, description="The original label of the dataset that the claim comes from."
    )
    speaker: str | None = Field(default=None, description="Who made the claim.")
    said_on: date | None = Field(default=None, description="The day on which it was made.")
    appeared_at: str | None = Field(default=None, description="The URL at which it was made.")
    review_url: str | None = Field(default=None, description="A published fact-check of it.")
    review_publisher: str | None = Field(
        default=None, description="The publisher of that fact-check."
    )
    questions: tuple[QuestionEntry, ...] = Field(
        default=(), description="Questions that annotators asked, with their answers."
    )
    passages: tuple[PassageEntry, ...] = Field(
        default=(), description="The passages behind the annotated stance."
    )
    human_scores: dict[Criterion, GivenScore] = Field(
        default={},
        description="A person's scores of the pipeline's output on this claim, from 0 to 2, by the "
        "criteria of `factible judge`, which prints the agreement with them. One score rates all "
        "queries of the claim, and one all its evidence. For the two hallucinations and the label "
        "0 is best.",
    )


class PublishedClaimEntry(ClaimEntry):
    """A claim in the layout of the published ground truth, with its names of the keys."""

    text: str = Field(min_length=1, validation_alias="claim_text")
    checkable: bool = Field(default=True, validation_alias="is_checkable")
    stance: GivenStance = Field(
        default=None, validation_alias=AliasPath("verdict", "overall_stance")
    )
    reasoning: str | None = Field(default=None, validation_alias=AliasPath("verdict", "reasoning"))
    verdict: Any = None


Link = Annotated[str, Field(pattern=r"^https?://\S{3,2000}$")]


class VideoEntry(Entry):
    id: str | None = Field(
        default=None, description=f"The partition key: {_ID_RULE}. Derived from a YouTube url."
    )
    url: str | None = Field(default=None, description="Where the video can be watched.")
    title: str | None = None
    channel: str | None = None
    language: str | None = Field(default=None, description="A language tag, such as en or pt-BR.")
    category: str | None = None
    tags: tuple[str, ...] = ()
    published_on: Day | None = None
    published_before: Day | None = Field(
        default=None,
        description="The date limit: sources published on or after this day are left out.",
    )
    duration_seconds: Annotated[Seconds, Field(le=10_000_000)] | None = None
    notes: str | None = None
    web: Web | None = Field(default=None, description="Overrides the corpus's web.")
    pages_rating: Rating | None = Field(
        default=None,
        description="If its web is a named collection: the rating of pages that no rating set "
        "lists.",
    )
    transcript: str | None = Field(
        default=None, description="A transcript file, relative to this file."
    )
    transcript_url: Link | None = Field(
        default=None, description="The address of a transcript, such as a podcast's."
    )
    media: str | None = Field(
        default=None,
        description="A recording or a picture of the video, relative to this file. If there is no "
        "transcript, the speech of the recording is recognised. The asset `media` examines both.",
    )
    recording_url: Link | None = Field(
        default=None,
        description="The address of a recording. If there is no transcript, its speech is "
        "recognised.",
    )
    claims: tuple[ClaimEntry, ...] | None = Field(
        default=None, description="Annotated ground truth."
    )
    ground_truth: str | None = Field(
        default=None, description="A YAML file with the claims instead, relative to this file."
    )
    claims_are_given: bool = Field(
        default=False,
        description="Check exactly the listed checkable claims. Find none in the transcript.",
    )
    claim_count: Annotated[Count, Field(le=1_000_000)] | None = Field(
        default=None,
        description="The published number of annotated claims, if the annotations are not part of "
        "this file.",
    )

    @model_validator(mode="after")
    def _has_one_identity_and_one_ground_truth(self) -> Self:
        if self.claims is not None and self.ground_truth is not None:
            raise ValueError("give the claims here or in a ground_truth file, not in both")
        if self.claims_are_given and self.claims is None and self.ground_truth is None:
            raise ValueError("claims_are_given needs claims: list them, or take that key out")
        _ = self.video_id  # raises ValueError if there is none
        return self

    @property
    def video_id(self) -> str:
        """The partition key: the given id, or the id in the YouTube URL."""
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
    corpus: str | None = Field(default=None, description="The name; by default the file's.")
    description: str | None = None
    web: Web = Field(default="auto", description=SearchConfig.model_fields["web"].description)
    on_demand: bool = Field(
        default=False,
        description="Add the partition of a video only when a user checks it. An entry for the "
        "same video in any other corpus takes precedence.",
    )
    videos: tuple[VideoEntry, ...] = ()


def is_usable_id(video_id: str) -> bool:
    """Tell whether an id works as a partition key and as a file name on every system."""
    return (
        _VIDEO_ID.fullmatch(video_id) is not None
        and ".." not in video_id
        and video_id.strip(".") != ""
    )


def corpus_json_schema() -> str:
    """Return the JSON Schema of a corpus file, the text of `corpora/corpus.schema.json`."""
    schema = CorpusFile.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "Corpus"
    return json.dumps(schema, ensure_ascii=False, indent=2) + "\n"
