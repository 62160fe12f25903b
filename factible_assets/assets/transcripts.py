"""The asset `transcripts`: what is said in a video, word by word, with its times.

What belongs here: finding the video in the corpora, asking its provider, metadata. What does not:
parsing of caption files (resources/transcripts), offsets (stages/transcript.py).
"""

import time

import dagster as dg

from factible_assets.assets.common import (
    KINDS,
    OWNERS,
    RETRIES,
    definition_metadata,
    final_failure,
)
from factible_assets.corpora import CorporaReading, CorpusVideo
from factible_assets.listing import CorporaResource
from factible_assets.partitions import videos
from factible_assets.presentation import cell, clock
from factible_assets.records import Transcript, TranscriptSegment, Video
from factible_assets.stages.transcript import (
    CueTimeError,
    EmptyTranscriptError,
    from_cues,
    from_text,
)
from resources.transcripts.base import Found, Outage, TranscriptAnswer
from resources.transcripts.file import FileTranscripts
from warehouse.rows import data_version
from warehouse.sets import AssetRows

CODE_VERSION = "1"


def timed_transcript(
    video_id: str, found: Found
) -> tuple[Transcript, tuple[TranscriptSegment, ...]]:
    """Turn what a provider found into the records that are stored.

    Raises:
        dagster.Failure: nothing is said, or a time is impossible. Never retried.
    """
    timed = found.transcript
    try:
        if timed.cues:
            return from_cues(
                video_id,
                timed.cues,
                provider=found.provider,
                language=timed.language,
                kind=timed.kind,
            )
        plain = from_text(
            video_id,
            timed.plain_text or "",
            provider=found.provider,
            language=timed.language,
            kind=timed.kind,
        )
    except (EmptyTranscriptError, CueTimeError) as error:
        raise final_failure(str(error)) from error
    return plain, ()


def found_or_failure(answer: TranscriptAnswer) -> Found:
    """Return the transcript.

    Raises:
        dagster.Failure: there is none. Only an outage is tried again.
    """
    match answer:
        case Found():
            return answer
        case Outage(reason=reason):
            raise dg.Failure(reason)
        case _:
            raise final_failure(answer.reason)


def listed_or_failure(reading: CorporaReading, video_id: str) -> CorpusVideo:
    """Return the corpus entry of a video.

    Raises:
        dagster.Failure: no corpus lists it. Tried again only if some file could not be read.
    """
    listed = reading.find(video_id)
    if listed is not None:
        return listed
    if reading.problems:
        problems = "; ".join(str(problem) for problem in reading.problems)
        raise dg.Failure(
            f"The video {video_id!r} is in no corpus that could be read, and some could not: "
            f"{problems}"
        )
    raise final_failure(
        f"The video {video_id!r} is in no corpus. List it, with its transcript file, in a YAML "
        "file in corpora/ or by `factible corpus add`, and materialize it again."
    )


@dg.asset(
    name="transcripts",
    partitions_def=videos,
    group_name="video",
    code_version=CODE_VERSION,
    owners=OWNERS,
    kinds=KINDS,
    retry_policy=RETRIES,
    metadata=definition_metadata("transcripts"),
    description=(
        "The video and the raw text of what is said in it, with the time of every caption. All "
        "later offsets index this text as it is stored."
    ),
)
async def transcripts(
    context: dg.AssetExecutionContext, corpora: CorporaResource
) -> dg.Output[AssetRows]:
    """Obtain the transcript of one video."""
    started = time.perf_counter()
    listed = listed_or_failure(corpora.read(), context.partition_key)
    provider = FileTranscripts(
        paths={listed.video.video_id: listed.transcript} if listed.transcript else {},
        languages={listed.video.video_id: listed.video.language} if listed.video.language else {},
    )
    found = found_or_failure(await provider.transcript(listed.video.video_id))
    transcript, segments = timed_transcript(listed.video.video_id, found)
    rows = AssetRows(
        rows=[listed.video, transcript, *segments],
        code_version=CODE_VERSION,
        duration_seconds=time.perf_counter() - started,
    )
    return dg.Output(
        rows,
        data_version=dg.DataVersion(data_version(rows.rows)),
        metadata=_metadata(listed.video, transcript, segments, rows.duration_seconds),
    )


def _metadata(
    video: Video,
    transcript: Transcript,
    segments: tuple[TranscriptSegment, ...],
    seconds: float,
) -> dict[str, dg.MetadataValue]:
    last = segments[-1] if segments else None
    length = last.start_seconds + last.duration_seconds if last else None
    return {
        "title": dg.MetadataValue.text(video.title),
        "video": dg.MetadataValue.url(video.url) if video.url else dg.MetadataValue.text("–"),
        "words": dg.MetadataValue.int(len(transcript.text.split())),
        "captions": dg.MetadataValue.int(len(segments)),
        "length": dg.MetadataValue.text(clock(length)),
        "provider": dg.MetadataValue.text(f"{transcript.provider}, {transcript.kind} captions"),
        "beginning": dg.MetadataValue.md(f"> {cell(transcript.text, 600)}"),
        "seconds": dg.MetadataValue.float(round(seconds, 3)),
    }
