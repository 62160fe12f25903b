"""The asset `transcripts`: what is said in a video, word by word, with its times.

What belongs here: finding the video in the corpora, asking its provider, metadata. What does not:
parsing of caption files and asking YouTube (resources/transcripts), offsets (stages/transcript.py).
"""

import difflib
import time
from dataclasses import dataclass

import dagster as dg

from factible_assets.assets.common import final_failure, is_last_try, tag_run, video_asset
from factible_assets.checks.structural import judged
from factible_assets.corpora.reading import CorporaReading, CorpusVideo
from factible_assets.corpora.writing import bare_id
from factible_assets.records import Transcript, TranscriptSegment, Video
from factible_assets.services.alive import STOPS
from factible_assets.services.resource import CorporaResource, FactCheckServices
from factible_assets.stages.integrity import JudgedRows
from factible_assets.stages.transcript import UnusableTranscriptError, from_cues, from_text
from factible_assets.wording import cell, clock
from resources.transcripts.base import (
    Found,
    Outage,
    TranscriptAnswer,
    TranscriptProvider,
    VideoDetails,
)
from resources.transcripts.file import FileTranscript
from resources.transcripts.youtube_ids import NotAVideoLinkError, is_video_id, watch_url
from warehouse.sets import AssetRows

CODE_VERSION = "1"


def timed_transcript(
    video_id: str, found: Found
) -> tuple[Transcript, tuple[TranscriptSegment, ...]]:
    """Turn what a provider found into the records that are stored.

    Raises dagster.Failure: nothing is said, or a time is impossible. Never retried.
    """
    timed = found.transcript
    place, language, kind = found.provider, timed.language, timed.kind
    try:
        if timed.cues:
            return from_cues(video_id, timed.cues, provider=place, language=language, kind=kind)
        text = timed.plain_text or ""
        return from_text(video_id, text, provider=place, language=language, kind=kind), ()
    except UnusableTranscriptError as error:
        raise final_failure(str(error)) from error


def found_or_failure(
    answer: TranscriptAnswer, advice: str = "", *, is_last_try: bool = False
) -> Found:
    """Return the transcript; `advice` says what else can be done where there is none.

    Raises dagster.Failure: there is none. Only an outage is tried again, unless it was the last
    try.
    """
    match answer:
        case Found():
            return answer
        case Outage(reason=reason):
            raise dg.Failure(f"{reason} {advice}".rstrip(), allow_retries=not is_last_try)
        case _:
            raise final_failure(f"{answer.reason} {advice}".rstrip())


@dataclass(frozen=True, slots=True)
class Wanted:
    """The video as far as it is known, and whether a file holds its transcript."""

    video: Video
    listed: CorpusVideo | None = None

    def file_provider(self) -> FileTranscript | None:
        """Return the provider of the listed transcript file, None if none is listed."""
        if self.listed is None or self.listed.transcript is None:
            return None
        return FileTranscript(self.listed.transcript, self.video.language)


def advice_without_transcript(wanted: Wanted, reading: CorporaReading) -> str:
    """Say how to bring the captions of a video oneself; empty where a file holds them."""
    listed, video_id = wanted.listed, wanted.video.video_id
    if listed is not None and listed.transcript is not None:
        return ""
    if listed is not None and listed in reading.videos():
        place = f"as transcript: in its entry, {listed.file}, line {listed.line}"
    else:
        place = f"with: factible corpus add --transcript FILE -- {video_id}"
    return f"Or bring its captions yourself, {place}"


def wanted_or_failure(reading: CorporaReading, video_id: str) -> Wanted:
    """Return what is known of a video: its corpus entry, or nothing but its YouTube id.

    Raises dagster.Failure: no corpus lists it and it is no YouTube id. Tried again only if some
    file could not be read.
    """
    listed = reading.find(video_id)
    if listed is not None:
        return Wanted(listed.video, listed)
    if is_video_id(video_id):
        return Wanted(Video(video_id=video_id, title=video_id, url=watch_url(video_id)))
    if reading.problems:
        problems = "; ".join(str(problem) for problem in reading.problems)
        raise dg.Failure(
            f"The video {video_id!r} is in no corpus that could be read, and some could not: "
            f"{problems}"
        )
    raise final_failure(
        f"The video {video_id!r} is in no corpus, and is no YouTube id. "
        f"{_remedy_of_unlisted(reading, video_id)}"
    )


def _remedy_of_unlisted(reading: CorporaReading, video_id: str) -> str:
    """Say what to do about a partition that names no video: a link, a slip, or neither."""
    try:
        meant = bare_id(video_id.strip())
    except NotAVideoLinkError as error:
        return str(error)
    known = [listed.video.video_id for listed in reading.everything()]
    # Ids differ by upper and lower case, which is easily mistyped.
    folded = {each.casefold(): each for each in known}
    close = difflib.get_close_matches(meant.casefold(), folded, n=1)
    if meant != video_id:
        return f"Add the partition {meant} instead, which that names, and materialize it."
    if close:
        return f"Did you mean {folded[close[0]]}? Materialize that partition, and delete this one."
    return (
        "List it, with its transcript file, with the job add_video, in a YAML file in corpora/ or "
        "by `factible corpus add`, and materialize it again."
    )


def with_details(wanted: Wanted, details: VideoDetails | None) -> Video:
    """Fill the gaps of a video with what its platform says; what a corpus says stands."""
    video = wanted.video
    if details is None:
        return video
    has_title = wanted.listed is not None and video.title != video.video_id
    return video.model_copy(
        update={
            "title": video.title if has_title else details.title or video.title,
            "channel": video.channel or details.channel,
            "duration_seconds": video.duration_seconds or details.duration_seconds,
            "published_on": video.published_on or details.published_on,
        }
    )


@video_asset(
    "transcripts",
    CODE_VERSION,
    "The video and the raw text of what is said in it, with the time of every caption. All later "
    "offsets index this text as it is stored.",
)
# Its checks are outputs too, and Dagster refuses one annotation for several outputs.
async def transcripts(  # type: ignore[no-untyped-def]
    context: dg.AssetExecutionContext, corpora: CorporaResource, services: FactCheckServices
):
    """Obtain the transcript of one video: from the file that a corpus names, else from YouTube."""
    started = time.perf_counter()
    reading = corpora.read()
    wanted = wanted_or_failure(reading, context.partition_key)
    tag_run(context, wanted.video)
    if wanted.listed is None:
        # A file that cannot be read must not look like one that lists nothing.
        for problem in reading.problems:
            context.log.warning(str(problem))
    provider: TranscriptProvider | None = wanted.file_provider()
    if provider is None:
        # Loaded late: few runs ask YouTube.
        from factible_assets.services.web import youtube_transcripts  # noqa: PLC0415

        provider = youtube_transcripts(services.settings())
    with STOPS.heeded(context.run.run_id):
        found = found_or_failure(
            await provider.transcript(wanted.video.video_id),
            advice_without_transcript(wanted, reading),
            is_last_try=is_last_try(context),
        )
    transcript, segments = timed_transcript(wanted.video.video_id, found)
    video = with_details(wanted, found.details)
    rows = AssetRows(
        rows=[video, transcript, *segments],
        code_version=CODE_VERSION,
        duration_seconds=time.perf_counter() - started,
    )
    outcomes, refusal = judged(["transcripts"], JudgedRows.of(rows.rows))
    if refusal is not None:
        for outcome in outcomes:
            yield outcome
        raise refusal
    last = segments[-1] if segments else None
    length = last.start_seconds + last.duration_seconds if last else None
    problems = found.details.problems if found.details else ()
    yield dg.MaterializeResult(
        value=rows,
        check_results=outcomes,
        data_version=dg.DataVersion(rows.data_version),
        metadata={
            "title": video.title,
            "video": dg.MetadataValue.url(video.url) if video.url else "–",
            "words": len(transcript.text.split()),
            "captions": len(segments),
            "length": clock(length),
            "provider": f"{transcript.provider}, {transcript.kind} captions",
            "beginning": dg.MetadataValue.md(f"> {cell(transcript.text, 600)}"),
            "seconds": round(rows.duration_seconds, 3),
            **({"details missing": " ".join(problems)} if problems else {}),
        },
    )
