"""The asset `transcripts`: the words of a video, with their times and speakers."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import dagster as dg

from factible_assets.corpora.reading import CorporaReading
from factible_assets.pipeline.assets import common
from factible_assets.pipeline.cancellation import CANCELLATIONS
from factible_assets.pipeline.resources import CorporaResource, FactCheckServices
from factible_assets.pipeline.warehouse import WarehouseResource
from factible_assets.records.rows import VideoRows
from factible_assets.records.tables import Video
from factible_assets.settings import Settings
from factible_assets.stages.ports import Observer
from factible_assets.stages.progress import LogObserver
from factible_assets.stages.transcript import stored_transcript
from factible_assets.wording import cell, clock
from resources.text_files import did_you_mean
from resources.transcripts import base
from resources.transcripts.youtube_ids import is_video_id, watch_url

CODE_VERSION = "2"
DUE_TAG = "due"


class OutageFailure(dg.Failure):
    """A source of transcripts failed, and may answer later."""


def transcript_of(
    answer: base.TranscriptAnswer, advice: str = "", *, is_last_try: bool = False
) -> base.Found:
    """Return the transcript in an answer. Without one, `advice` ends the error.

    Raises dagster.Failure: There is no transcript. Dagster retries an outage, except the last time.
    """
    match answer:
        case base.Found():
            return answer
        case base.Outage(reason=reason):
            raise OutageFailure(f"{reason} {advice}".rstrip(), allow_retries=not is_last_try)
        case _:
            raise common.final_failure(f"{answer.reason} {advice}".rstrip())


def listed_video(reading: CorporaReading, video_id: str) -> Video:
    """Return the video of a corpus entry, or a bare video for a YouTube id that no corpus lists.

    Raises dagster.Failure: No corpus lists the id, and it is no YouTube id. Never retried.
    """
    listed = reading.find(video_id)
    if listed is not None:
        return listed.video
    if is_video_id(video_id):
        return Video(video_id=video_id, title=video_id, url=watch_url(video_id))
    remedy = did_you_mean(video_id, (listed.video.video_id for listed in reading.everything()))
    if reading.problems:
        remedy = f"These files are unreadable: {'; '.join(map(str, reading.problems))}"
    elif not remedy:
        remedy = (
            "List it with its transcript file, by the job add_video, a YAML file in corpora/ or "
            "`factible corpus add`, and materialize it again."
        )
    raise common.final_failure(
        f"No corpus lists the video {video_id!r}, and it is no YouTube id. {remedy}"
    )


def with_details(video: Video, details: base.VideoDetails | None) -> Video:
    """Fill the gaps of a video with the platform's details; values of a corpus stay."""
    if details is None:
        return video
    has_title = video.title != video.video_id
    return video.model_copy(
        update={
            "title": video.title if has_title else details.title or video.title,
            "channel": video.channel or details.channel,
            "duration_seconds": video.duration_seconds or details.duration_seconds,
            "published_on": video.published_on or details.published_on,
        }
    )


async def obtain_transcript(
    video: Video,
    reading: CorporaReading,
    settings: Callable[[], Settings],
    *,
    on_progress: Callable[[str, float], None] = lambda _, __: None,
    is_last_try: bool = False,
) -> tuple[VideoRows, Sequence[str]]:
    """Ask the sources of transcripts; return the rows, and the details that the platform lacked.

    `on_progress` gets a sentence and a share, from sources that take minutes.

    Raises dagster.Failure: There is no transcript, or it has no words.
    """
    # The clients of the sources load slowly.
    from factible_assets.services.transcripts import WantedVideo, find_transcript

    video_id, advice = video.video_id, ""
    listed = reading.find(video_id)
    wanted = WantedVideo(video_id, video.language, on_progress=on_progress)
    if listed is not None:
        wanted = replace(
            wanted,
            transcript=listed.transcript,
            media=listed.media,
            transcript_url=listed.entry.transcript_url,
            recording_url=listed.entry.recording_url,
        )
    if wanted.transcript is None:
        remedy = f"factible corpus add --transcript FILE -- {video_id}"
        if listed is not None and listed in reading.videos():
            remedy = f"name a file under `transcript` in {listed.file}, line {listed.line}."
        advice = f"Or bring its captions yourself: {remedy}"
    answer = await find_transcript(wanted, settings)
    found = transcript_of(answer, advice, is_last_try=is_last_try)
    transcript, segments = stored_transcript(video_id, found.transcript, provider=found.provider)
    rows = VideoRows.of([with_details(video, found.details), transcript, *segments])
    return rows, found.details.problems if found.details else ()


@common.video_asset(
    "transcripts",
    CODE_VERSION,
    "The video and the raw text of its speech, with the time of every caption. All later offsets "
    "index this stored text.",
    kind="youtube",
    deps=["youtube", "corpus_files"],
)
# No return annotation: the checks are outputs too, and Dagster refuses one for several outputs.
async def transcripts(  # type: ignore[no-untyped-def]
    context: dg.AssetExecutionContext,
    corpora: CorporaResource,
    services: FactCheckServices,
    warehouse: WarehouseResource,
    observer: dg.ResourceParam[Observer],
):
    """Obtain the transcript of one video from the first source that has it."""
    started = time.perf_counter()
    reading = corpora.read()
    listed = listed_video(reading, context.partition_key)
    common.tag_run(context, listed)
    if reading.find(listed.video_id) is None:
        # An unreadable file may list the video.
        for problem in reading.problems:
            context.log.warning(str(problem))
    with CANCELLATIONS.cancellable(context.run.run_id):
        try:
            rows, problems = await obtain_transcript(
                listed,
                reading,
                services.settings,
                on_progress=LogObserver(context.log, observer).transcript_progressed,
                is_last_try=common.is_last_try(context),
            )
        except OutageFailure:
            # The schedule videos_due finds the runs to repeat by this tag.
            context.instance.add_run_tags(context.run.run_id, {DUE_TAG: "transcript"})
            raise
    video, (transcript,), segments = rows.video, rows.transcripts, rows.segments
    seconds = time.perf_counter() - started
    last = segments[-1] if segments and segments[-1].start_seconds is not None else None
    length = last.begins + last.duration_seconds if last else None
    speakers = sorted({segment.speaker for segment in segments if segment.speaker})
    metadata = {
        "title": video.title,
        "video": dg.MetadataValue.url(video.url) if video.url else "–",
        "words": len(transcript.text.split()),
        "captions": len(segments),
        "length": clock(length),
        **({"speakers": ", ".join(map(cell, speakers))} if speakers else {}),
        "provider": f"{transcript.provider}, {transcript.kind} captions",
        "beginning": dg.MetadataValue.md(f"> {cell(transcript.text, 600)}"),
        "seconds": round(seconds, 3),
        **({"details missing": " ".join(problems)} if problems else {}),
    }
    for result in common.stored_rows(
        context, warehouse.store(), "transcripts", CODE_VERSION, rows, seconds, metadata
    ):
        yield result
    observer.transcript_stored(len(transcript.text))
