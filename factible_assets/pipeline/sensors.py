"""Jobs, sensors and a schedule that add videos and corpora, and sensors that run after runs.

A run needs its partition at its start, and a new video has none. So the job `add_video` adds the
partition, and a sensor then launches `fact_check`.
"""

# No `from __future__ import annotations`: Dagster reads the annotations of ops as types.

from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import dagster as dg
from pydantic import AfterValidator, Field

from factible_assets.config import ClaimsConfig, FactCheckConfig, StageConfig, Web
from factible_assets.corpora.format import CorpusError
from factible_assets.corpora.reading import CorporaReading
from factible_assets.corpora.writing import LOCAL_CORPUS, bare_id, list_new_video
from factible_assets.exchange import ImportFormat
from factible_assets.pipeline.assets.common import final_failure, launcher_of
from factible_assets.pipeline.assets.external import PUBLISHED_COPY
from factible_assets.pipeline.assets.transcripts import DUE_TAG
from factible_assets.pipeline.launchpad import run_config_for, validated_schema
from factible_assets.pipeline.liveness import end_dead_runs
from factible_assets.pipeline.partitions import PARTITION_TAG, videos
from factible_assets.pipeline.resources import CorporaResource, FactCheckServices
from factible_assets.pipeline.schedules import in_flight, run_tags
from factible_assets.records.tables import METHOD
from factible_assets.settings import Settings
from factible_assets.wording import cell
from resources.transcripts.base import TranscriptError
from warehouse.store import Warehouse

ADD_JOB, IMPORT_JOB = "add_video", "import_corpus"
READABLE = "corpora_are_readable"

PARTITIONS_PER_TICK = 1_000
"""A request with many keys is slow; the next ticks add the rest."""

_SHOWN = 5
_NAME = r"^[A-Za-z0-9_-]{1,60}$"
_CLAIMS = ClaimsConfig.model_fields["max_claims"]


def _permitted(given: str, settings: Settings, command: str) -> Path:
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


# --- One video ----------------------------------------------------------------------------------


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
    published_on: str | None = Field(
        default=None,
        pattern=r"^\d{4}-\d{2}-\d{2}$",
        description="Its day of publication, as YYYY-MM-DD.",
    )
    transcript: str | None = Field(
        default=None,
        description="A transcript in any format of docs/guide.md: an absolute path on Dagster's "
        "machine, in the data folder. By default YouTube's.",
    )
    corpus: str = Field(
        default=Path(LOCAL_CORPUS).stem,
        pattern=_NAME,
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
        transcript = _permitted(config.transcript, settings, "factible corpus add")
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
                    include={"title", "channel", "language", "published_on", "web"}
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
    given: Any = run.run_config
    config = AddVideoConfig.model_validate(given["ops"][list_video.name]["config"])
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


DUE_SCHEDULE = "videos_due"
_DUE_PER_TICK, _MOST_TRIES = 100, 48
"""YouTube answers about 300 videos an hour to one address. Tries end after two days."""


def due_requests(
    instance: dg.DagsterInstance, settings: Settings, tick: datetime
) -> list[dg.RunRequest]:
    """Return a run request for each video whose last run failed with the tag `due`.

    Leaves out videos that have been checked since, have a running or queued run, or had 48 tries.
    """
    failed = dg.RunsFilter(statuses=[dg.DagsterRunStatus.FAILURE], tags={DUE_TAG: "transcript"})
    stored = Warehouse(settings.warehouse).video_ids() if settings.warehouse.exists() else ()
    held = in_flight(instance) | set(stored)
    last: dict[str, dg.DagsterRun] = {}
    tries: Counter[str] = Counter()
    for run in instance.get_runs(failed):  # the newest first
        video_id = run.tags.get(PARTITION_TAG, "")
        tries[video_id] += 1
        last.setdefault(video_id, run)
    there = set(instance.get_dynamic_partitions(str(videos.name)))
    due = [each for each in last if each in there - held and tries[each] < _MOST_TRIES]
    return [
        dg.RunRequest(
            run_key=f"{tick:%Y-%m-%dT%H:%MZ} {video_id}",
            partition_key=video_id,
            run_config=last[video_id].run_config,
            tags=run_tags(video_id, last[video_id].tags.get("corpus"), DUE_SCHEDULE),
        )
        for video_id in due[:_DUE_PER_TICK]
    ]


def due_schedule(fact_check: Any, settings: Settings) -> dg.ScheduleDefinition:
    @dg.schedule(
        name=DUE_SCHEDULE,
        job=fact_check,
        cron_schedule="20 * * * *",
        execution_timezone="UTC",
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description=(
            "Checks hourly the videos whose transcript was not available before: YouTube's limit "
            "was reached, or a stream had not ended."
        ),
    )
    def videos_due(context: dg.ScheduleEvaluationContext) -> list[dg.RunRequest] | dg.SkipReason:
        tick = context.scheduled_execution_time.astimezone(UTC)
        requests = due_requests(context.instance, settings, tick)
        return requests or dg.SkipReason("No video waits for its transcript.")

    return videos_due


# --- A corpus -----------------------------------------------------------------------------------


class ImportConfig(StageConfig):
    """The corpus to import, and its name."""

    path: str = Field(
        min_length=1,
        description="A file of claims, a corpus file, or a published evaluation folder: an "
        "absolute path on Dagster's machine, in the data folder.",
    )
    format: ImportFormat = Field(
        default="auto", description="The format of the path; auto detects it."
    )
    name: str | None = Field(
        default=None,
        pattern=_NAME,
        description="The corpus's name, of letters, digits, hyphens and underscores; by default "
        "the path's.",
    )
    web: Web | None = Field(
        default=None,
        description="The web to search for evidence; by default the archive for published runs, "
        "and auto for the rest.",
    )
    limit: int | None = Field(
        default=None,
        ge=1,
        description="Import only the first claims of a list. At least 1; not for corpus files and "
        "published folders.",
    )
    replace: bool = Field(
        default=False, description="Whether to overwrite a different corpus of the same name."
    )


# One op, because values between ops would go through the warehouse, which stores only rows.
@dg.op(config_schema=validated_schema(ImportConfig))
def import_into_corpora(
    context: dg.OpExecutionContext, services: FactCheckServices, corpora: CorporaResource
) -> None:
    """Write a corpus file and its transcripts into the data folder, and add partitions."""
    from factible_assets.exchange.importing import import_corpus as import_from

    config, settings = ImportConfig.model_validate(context.op_config), services.settings()
    settings.ensure_home()
    try:
        done = import_from(
            _permitted(config.path, settings, "factible corpus import"),
            settings.home_corpora,
            form=config.format,
            listing=corpora.read(),
            **config.model_dump(include={"name", "web", "limit", "replace"}),
        )
    except CorpusError as error:
        raise final_failure(str(error)) from error
    for sentence in done.left_out:
        context.log.warning("Left out: %s", sentence)
    context.instance.add_run_tags(context.run_id, {"corpus": done.name})
    context.instance.add_dynamic_partitions(str(videos.name), done.video_ids)
    metadata: dict[str, Any] = {
        "corpus": done.name,
        "file": dg.MetadataValue.path(done.file),
        "videos": len(done.video_ids),
        "annotated claims": done.claims,
        "transcripts": done.transcripts,
    }
    if done.left_out:
        told = "\n".join(f"- {cell(sentence)}" for sentence in done.left_out)
        metadata["left out"] = dg.MetadataValue.md(told)
    context.add_output_metadata(metadata)


@dg.job(name=IMPORT_JOB)
def import_corpus() -> None:
    """Import annotated claims or videos as a corpus, and add a partition for each.

    Formats: published runs, AVeriTeC, FEVER, ClaimReview, a corpus file. In the launchpad, set ops,
    import_into_corpora, config, path.
    """
    import_into_corpora()


# --- Videos of corpora --------------------------------------------------------------------------


def _reading_problems(reading: CorporaReading) -> str:
    problems = [str(problem) for problem in reading.problems]
    more = f" And {len(problems) - _SHOWN:,} more." if len(problems) > _SHOWN else ""
    return " ".join(problems[:_SHOWN]) + more or "All corpus files are readable."


@dg.asset_check(asset="transcripts", name=READABLE)
def corpora_are_readable(corpora: CorporaResource) -> dg.AssetCheckResult:
    """All corpus files are readable; otherwise the file, the line and the remedy.

    An unreadable file removes no partition.
    """
    reading = corpora.read()
    return dg.AssetCheckResult(passed=not reading.problems, description=_reading_problems(reading))


@dg.sensor(
    name="corpus_sensor",
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description=(
        "Adds a partition for every video of the files in corpora/, and never removes one. An "
        "unreadable file fails the check corpora_are_readable of transcripts."
    ),
)
def corpus_sensor(context: dg.SensorEvaluationContext, corpora: CorporaResource) -> dg.SensorResult:
    reading = corpora.read()
    outcome = _reading_problems(reading)
    for problem in reading.problems:
        context.log.warning(str(problem))
    # The history of a video is data, so a partition stays when its entry goes.
    existing = set(context.instance.get_dynamic_partitions(str(videos.name)))
    listed = (entry.video.video_id for entry in reading.videos())
    added = [each for each in listed if each not in existing][:PARTITIONS_PER_TICK]
    skipped = None if added else "Every listed video has a partition."
    if reading.problems and not added:
        skipped = f"There are no new videos, and the partitions stay. {outcome}"
    evaluation = dg.AssetCheckEvaluation(
        asset_key=dg.AssetKey("transcripts"),
        check_name=READABLE,
        passed=not reading.problems,
        description=outcome,
    )
    return dg.SensorResult(
        dynamic_partitions_requests=[videos.build_add_request(added)] if added else [],
        skip_reason=skipped,
        # Report changes only: each tick would add an event.
        asset_events=[] if outcome == context.cursor else [evaluation],
        cursor=outcome,
    )


# --- After runs ---------------------------------------------------------------------------------


@dg.sensor(
    name="dead_runs_sensor",
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Ends runs whose process is gone, so that they do not block the queue.",
)
def dead_runs_sensor(context: dg.SensorEvaluationContext) -> dg.SkipReason:
    dead = end_dead_runs(context.instance)
    return dg.SkipReason(f"Ended: {', '.join(dead)}." if dead else "No run is dead.")


@dg.run_status_sensor(
    name="publish_sensor",
    run_status=dg.DagsterRunStatus.SUCCESS,
    minimum_interval_seconds=15,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="After a run, publishes a copy of the warehouse for readers.",
)
def publish_sensor(context: dg.RunStatusSensorContext, services: FactCheckServices) -> None:
    settings = services.settings()
    if settings.warehouse.exists():
        Warehouse(settings.warehouse).publish(settings.published)
        metadata = {"copy": str(settings.published)}
        event = dg.AssetMaterialization(PUBLISHED_COPY, metadata=metadata)
        context.instance.report_runless_asset_event(event)
        context.log.info("Published %s", settings.published)
