"""The job `add_video`: one new video, from a field in the launchpad to its verdicts.

What belongs here: the job's run config, what it does to the instance (a partition, tags), and the
sensor that checks what was added. What does not: listing a video (corpora/writing.py), the same
thing from the command line (cli/corpus.py).

A run belongs to a partition from its start, and the partition of a new video exists only once it
was added. So the job adds it, and the sensor launches `fact_check` for it some seconds later.
"""

# No `from __future__ import annotations`: Dagster reads the annotations of ops as types.

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import dagster as dg
from pydantic import AfterValidator, Field, ValidationError

from factible_assets.assets.common import final_failure, launcher_of
from factible_assets.automation.rechecks import run_tags
from factible_assets.config import ClaimsConfig, FactCheckConfig, SearchConfig, StageConfig
from factible_assets.corpora.format import CorpusError
from factible_assets.corpora.writing import LOCAL_CORPUS, bare_id, list_new_video
from factible_assets.launchpad import launchpad_schema, run_config_for, settled
from factible_assets.partitions import videos
from factible_assets.records import METHOD
from factible_assets.services.resource import CorporaResource, FactCheckServices
from factible_assets.settings import Settings
from resources.transcripts.base import TranscriptError

ADD_JOB = "add_video"
OP = "list_video"

_CLAIMS = ClaimsConfig.model_fields["max_claims"]


def _no_wrong_link(video: str) -> str:
    bare_id(video.strip())
    return video


WEB: str = SearchConfig.model_json_schema()["properties"]["web"]["pattern"]
"""How a web is written."""


class AddVideoConfig(StageConfig):
    """The new video, and whether it is checked at once."""

    video: Annotated[str, AfterValidator(_no_wrong_link)] = Field(
        min_length=1,
        max_length=500,
        description="A YouTube link or id; or an id of your own, together with a transcript.",
    )
    title: str | None = Field(
        default=None, description="Its title; else what YouTube says, or the id."
    )
    channel: str | None = Field(default=None, description="Who published it.")
    language: str | None = Field(default=None, description="The language spoken, such as en.")
    published_on: str | None = Field(
        default=None,
        pattern=r"^\d{4}-\d{2}-\d{2}$",
        description="The day on which it was published, as YYYY-MM-DD.",
    )
    transcript: str | None = Field(
        default=None,
        description="A file of captions (WebVTT, SRT, json3, JSON, text) on the machine that runs "
        "Dagster, as a whole path, in the data folder or in FACTIBLE_TRANSCRIPT_FOLDERS; it is "
        "copied. Else YouTube is asked for them.",
    )
    corpus: str = Field(
        default=Path(LOCAL_CORPUS).stem,
        pattern=r"^[A-Za-z0-9_-]{1,60}$",
        description="The corpus that lists it: a file in the data folder's corpora/, named in "
        "letters, digits, hyphens and underscores, and made if it is not there.",
    )
    web: str | None = Field(
        default=None,
        pattern=WEB,
        description="Where its evidence is looked for: live, archive, archive:NAME, miniature or "
        "auto; else what the corpus says.",
    )
    check: bool = Field(default=True, description="Whether it is fact-checked right away.")
    max_claims: int = Field(
        default=_CLAIMS.default, ge=1, le=50, description=f"If it is checked: {_CLAIMS.description}"
    )


@dg.op(
    name=OP,
    config_schema=launchpad_schema(AddVideoConfig),
    description="List the video in a corpus of the data folder, and add its partition.",
)
def list_video(
    context: dg.OpExecutionContext, services: FactCheckServices, corpora: CorporaResource
) -> None:
    """List, tag the run, add the partition."""
    config = settled(AddVideoConfig, context.op_config)
    video_id = _listed(config, services, corpora)
    corpus = corpora.read().find(video_id)
    name = corpus.video.corpus if corpus else None
    launcher = launcher_of(context.run.tags)
    context.instance.add_run_tags(context.run_id, run_tags(video_id, name, launcher))
    context.instance.add_dynamic_partitions(str(videos.name), [video_id])
    context.log.info("The video %s is listed, and its partition is there.", video_id)
    context.add_output_metadata(
        {
            "video": video_id,
            "corpus": name or "–",
            "next": f"The job fact_check is launched for the partition {video_id}."
            if config.check
            else f"Materialize the partition {video_id} with the job fact_check.",
            # Of the UI itself, wherever that is served.
            "verdicts": dg.MetadataValue.url(f"/assets/verdicts?partition={quote(video_id)}"),
        }
    )


@dg.job(
    name=ADD_JOB,
    description=(
        "Add a video and fact-check it. Say which in the launchpad: ops, list_video, config, "
        "video: a YouTube link or id, or an id of your own with a transcript file. It is listed "
        "in a corpus of the data folder and becomes a partition; then fact_check is launched."
    ),
)
def add_video() -> None:
    """Add one video."""
    list_video()


def _listed(config: AddVideoConfig, services: FactCheckServices, corpora: CorporaResource) -> str:
    """List the video, unless the data folder lists it already, and return its id.

    Raises:
        dagster.Failure: it cannot be listed. Never retried.
    """
    settings = services.settings()
    settings.ensure_home()
    transcript = (
        permitted(config.transcript, settings, "factible corpus add") if config.transcript else None
    )
    listing = corpora.read()
    try:
        video_id = bare_id(config.video.strip())
        known = listing.find(video_id)
        if known is not None and known in listing.videos() and transcript is None:
            # Whoever adds it again wants it checked.
            return video_id
        entry = list_new_video(
            settings.home_corpora / f"{config.corpus}.yaml",
            video_id,
            listing=listing,
            transcript=transcript,
            **config.model_dump(include={"title", "channel", "language", "published_on", "web"}),
        )
    except (CorpusError, TranscriptError) as error:
        raise final_failure(str(error)) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = f"{first['loc'][0]}: " if first["loc"] else ""
        words = first["msg"].removeprefix("Value error, ")
        raise final_failure(f"{name}{words}. Correct it and launch again.") from error
    return entry.video_id


def permitted(given: str, settings: Settings, command: str) -> Path:
    """Return a path of the launchpad, which is no way to have any file of this machine read.

    `command` is what the owner of this machine can run instead.

    Raises:
        dagster.Failure: it lies in none of them. Never retried.
    """
    path = Path(given).expanduser()
    if not path.is_absolute():
        raise final_failure(
            f"The path {given!r} is not whole: the daemon may run in any folder. Give the path "
            "from the root, and launch again."
        )
    folders = [settings.home, *map(Path, settings.transcript_folders)]
    if not any(path.resolve().is_relative_to(folder.expanduser().resolve()) for folder in folders):
        raise final_failure(
            f"{given!r} is not in a folder that files are taken from: "
            f"{', '.join(map(str, folders))}. Move it there, add its folder to "
            f"FACTIBLE_TRANSCRIPT_FOLDERS, or use `{command}`."
        )
    return path


def check_requests(run: dg.DagsterRun) -> Iterator[dg.RunRequest]:
    """Return what is launched after a run of `add_video`: the check of its video, if wanted."""
    given: Any = run.run_config
    config = settled(AddVideoConfig, given["ops"][OP]["config"])
    video_id = run.tags.get("video")
    if video_id is None or not config.check:
        return
    knobs = FactCheckConfig(claims=ClaimsConfig(max_claims=config.max_claims))
    yield dg.RunRequest(
        run_key=run.run_id,
        partition_key=video_id,
        run_config=run_config_for(knobs, METHOD),
        tags=run_tags(video_id, run.tags.get("corpus"), ADD_JOB),
    )


def added_videos_sensor(fact_check: Any) -> dg.SensorDefinition:
    """Return the sensor that launches the job `fact_check` for every video that was added."""

    @dg.run_status_sensor(
        name="added_videos_sensor",
        run_status=dg.DagsterRunStatus.SUCCESS,
        monitored_jobs=[add_video],
        request_job=fact_check,
        minimum_interval_seconds=5,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Launches fact_check for every video that the job add_video added.",
    )
    def check_added_videos(
        context: dg.RunStatusSensorContext,
    ) -> Sequence[dg.RunRequest] | dg.SkipReason:
        """Launch the check."""
        requests = list(check_requests(context.dagster_run))
        return requests or dg.SkipReason("The video was to be added only.")

    return check_added_videos
