"""The one shared partitioning: a partition per video.

What belongs here: the partitions definition, and the tag of runs that names one. What does not: how
partitions come to be added (automation/, running/).

YouTube ids are safe as keys, a leading "-" included; they are case-sensitive.
"""

import dagster as dg

PARTITION_TAG = "dagster/partition"
"""The tag by which Dagster says which partition, and so which video, a run is of."""

RANGE_TAG = "dagster/asset_partition_range_start"
"""The tag of a run of several partitions, which names the first."""

videos = dg.DynamicPartitionsDefinition(name="videos")
