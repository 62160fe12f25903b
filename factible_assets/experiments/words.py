"""What is said in the videos of an experiment, and where it comes from.

What belongs here: the order of the sources. What does not: the sources (the warehouse, the
transcripts asset, whose functions are used here).
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import dagster as dg

from factible_assets.assets.transcripts import (
    found_or_failure,
    timed_transcript,
    wanted_or_failure,
    with_details,
)
from factible_assets.corpora.reading import CorporaReading
from factible_assets.experiments.store import Words, stored_words
from factible_assets.services.transcripts import youtube_transcripts
from factible_assets.settings import Settings


class NoWordsError(Exception):
    """A transcript cannot be obtained. The message is a sentence with the remedy."""


async def words_at_hand(
    video_id: str, corpora: CorporaReading, settings: Settings, own: Path
) -> Words | None:
    """Return what is said as this machine knows it; None if YouTube is to be asked.

    What production stored comes first, then the file that a corpus names, then what the
    experiment's own file keeps of an earlier question to YouTube.

    Raises:
        NoWordsError: The listed file cannot be used.
    """
    stored = await asyncio.to_thread(stored_words, settings.warehouse, video_id)
    if stored is not None:
        return stored
    if corpora_file(video_id, corpora):
        return await _obtained(video_id, corpora, settings)
    return await asyncio.to_thread(stored_words, own, video_id)


async def words_of(video_id: str, corpora: CorporaReading, settings: Settings, own: Path) -> Words:
    """Return what is said, as the transcripts asset would obtain it where it is not at hand.

    Raises:
        NoWordsError: It cannot be obtained.
    """
    at_hand = await words_at_hand(video_id, corpora, settings, own)
    return at_hand or await _obtained(video_id, corpora, settings)


def corpora_file(video_id: str, corpora: CorporaReading) -> bool:
    """Tell whether a corpus names a file with the transcript."""
    listed = corpora.find(video_id)
    return listed is not None and listed.transcript is not None


async def _obtained(video_id: str, corpora: CorporaReading, settings: Settings) -> Words:
    try:
        wanted = wanted_or_failure(corpora, video_id)
        provider = wanted.file_provider() or youtube_transcripts(settings)
        found = found_or_failure(await provider.transcript(video_id))
        transcript, segments = timed_transcript(video_id, found)
    except dg.Failure as failure:
        raise NoWordsError(
            failure.description or f"The transcript of {video_id} could not be obtained."
        ) from failure
    return Words(with_details(wanted, found.details), transcript, segments)
