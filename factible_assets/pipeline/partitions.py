"""The partitions definition `videos`, and the tags of runs that name a video.

Partition keys are video ids. YouTube ids are safe as keys, including a leading "-"; they are
case-sensitive.
"""

import dagster as dg

PARTITION_TAG = "dagster/partition"
VIDEO_TAGS = (PARTITION_TAG, "video")
"""Tags that name the video of a run. A run may have only one of them."""

videos = dg.DynamicPartitionsDefinition(name="videos")


def run_tags(video_id: str, corpus: str | None, launched_by: str) -> dict[str, str]:
    tags = {"video": video_id, "launched_by": launched_by}
    return {**tags, "corpus": corpus} if corpus else tags
