"""The job `add_video`, and the sensor that then checks the video.

A run needs its partition at its start, and a new video has none. So the job adds the partition, and
the sensor launches `fact_check`.
"""

# No `from __future__ import annotations`: Dagster reads the annotations of ops as types.

from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import dagster as dg
from pydantic import AfterValidator, Field

from factible_assets.config import ClaimsConfig, Day, FactCheckConfig, StageConfig, Web
from factible_assets.corpora.format import CorpusError
from factible_assets.corpora.writing import LOCAL_CORPUS, list_new_video
from factible_assets.pipeline.assets.common import final_failure, launcher_of
from factible_assets.pipeline.launchpad import run_config_for, validated_schema
from factible_assets.pipeline.partitions import run_tags, videos
from factible_assets.pipeline.resources import CorporaResource, FactCheckServices
from factible_assets.records.tables import METHOD
from factible_assets.settings import Settings
from resources.transcripts.base import TranscriptError
from resources.transcripts.youtube_ids import bare_id

ADD_JOB = "add_video"
CORPUS_NAME = r"^[A-Za-z0-9_-]{1,60}$"

_CLAIMS = ClaimsConfig.model_fields["max_claims"]


def permitted_path(given: str, settings: Settings, command: str) -> Path:
    """Return a path from the launchpad if it is in the data folder.

    Users of the UI may not read other files of this machine. The error offers `command`, which the
    owner of the machine can run.

    Raises dagster.Failure: The path is not permitted. Never retried.
    """
    with suppress(RuntimeError, ValueError):  # an unknown user after ~, or a NUL byte
        path = Path(given).expanduser()
        if path.is_absolute() and path.resolve().is_relative_to(settings.home.resolve()):
            return path
    raise final_failure(
        f"{given!r} is no absolute path in the data folder {settings.home}. Copy or mount the file "
        f"there, or use `{command}`."
    )


def _video_or_link(video: str) -> str:
    bare_id(video.strip())
    return video


class AddVideoConfig(StageConfig):
    """The new video, and whether to check it at once."""

    video: Annotated[str, AfterValidator(_video_or_link)] = Field(
        min_length=1,
        max_length=500,
        description="A YouTube link or id; or an id of your own, together with a transcript.",
    )
    title: str | None = Field(
        default=None, description="Its title; by default YouTube's, or the id."
    )
    channel: str | None = Field(default=None, description="Its publisher.")
    language: str | None = Field(default=None, description="Its spoken language, such as en.")
    published_on: Day | None = Field(
        default=None, description="Its day of publication, as YYYY-MM-DD."
    )
    transcript: str | None = Field(
        default=None,
        description="A transcript in any format of docs/guide.md: an absolute path on Dagster's "
        "machine, in the data folder. By default YouTube's.",
    )
    corpus: str = Field(
        default=Path(LOCAL_CORPUS).stem,
        pattern=CORPUS_NAME,
        description="The corpus that lists it: a file in the data folder's corpora/, created if it "
        "is missing, with a name of letters, digits, hyphens and underscores.",
    )
    web: Web | None = Field(
        default=None,
        description="The web to search for evidence: live, archive, archive:NAME, miniature or "
        "auto. By default the corpus decides.",
    )
    check: bool = Field(default=True, description="Whether to fact-check it at once.")
    max_claims: int = Field(
        default=_CLAIMS.default, ge=1, le=50, description=f"For its check: {_CLAIMS.description}"
    )


@dg.op(config_schema=validated_schema(AddVideoConfig))
def list_video(
    context: dg.OpExecutionContext, services: FactCheckServices, corpora: CorporaResource
) -> None:
    """List the video in a corpus of the data folder, and add its partition."""
    config, settings = AddVideoConfig.model_validate(context.op_config), services.settings()
    settings.ensure_home()
    transcript = None
    if config.transcript:
        transcript = permitted_path(config.transcript, settings, "factible corpus add")
    listing = corpora.read()
    try:
        video_id = bare_id(config.video.strip())
        known = listing.find(video_id)
        # Adding a listed video again means checking it.
        if transcript is not None or known is None or known not in listing.videos():
            list_new_video(
                settings.home_corpora / f"{config.corpus}.yaml",
                video_id,
                listing=listing,
                transcript=transcript,
                **config.model_dump(
                    mode="json", include={"title", "channel", "language", "published_on", "web"}
                ),
            )
    except (CorpusError, TranscriptError) as error:
        raise final_failure(str(error)) from error
    listed = corpora.read().find(video_id)
    name = listed.video.corpus if listed else None
    launcher = launcher_of(context.run.tags)
    context.instance.add_run_tags(context.run_id, run_tags(video_id, name, launcher))
    context.instance.add_dynamic_partitions(str(videos.name), [video_id])
    following = "Materialize the partition {} with the job fact_check."
    if config.check:
        following = "added_videos_sensor launches the job fact_check for the partition {}."
    context.add_output_metadata(
        {
            "video": video_id,
            "corpus": name or "–",
            "next": following.format(video_id),
            # A relative link works wherever the UI is served.
            "verdicts": dg.MetadataValue.url(f"/assets/verdicts?partition={quote(video_id)}"),
        }
    )


@dg.job(name=ADD_JOB)
def add_video() -> None:
    """Add a video and fact-check it.

    In the launchpad, set ops, list_video, config, video to a YouTube link or id, or to an id of
    your own with a transcript file. The job lists the video in a corpus of the data folder and adds
    its partition; a sensor then launches fact_check.
    """
    list_video()


def check_request(run: dg.DagsterRun) -> dg.RunRequest | dg.SkipReason:
    """Return the run request for the video of an `add_video` run, if its config wants a check."""
    run_config: Any = run.run_config
    config = AddVideoConfig.model_validate(run_config["ops"][list_video.name]["config"])
    video_id = run.tags.get("video")
    if video_id is None or not config.check:
        return dg.SkipReason("The run was to add the video without a check.")
    options = FactCheckConfig(claims=ClaimsConfig(max_claims=config.max_claims))
    return dg.RunRequest(
        run_key=run.run_id,
        partition_key=video_id,
        run_config=run_config_for(options, METHOD),
        tags=run_tags(video_id, run.tags.get("corpus"), ADD_JOB),
    )


def added_videos_sensor(fact_check: Any) -> dg.SensorDefinition:
    @dg.run_status_sensor(
        name="added_videos_sensor",
        run_status=dg.DagsterRunStatus.SUCCESS,
        monitored_jobs=[add_video],
        request_job=fact_check,
        minimum_interval_seconds=5,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Launches fact_check for every video that the job add_video added.",
    )
    def check_added_videos(context: dg.RunStatusSensorContext) -> dg.RunRequest | dg.SkipReason:
        return check_request(context.dagster_run)

    return check_added_videos
