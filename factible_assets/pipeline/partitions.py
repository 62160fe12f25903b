"""The partitions definition `videos`, and the tag of runs that names a partition.

Partition keys are video ids. YouTube ids are safe as keys, including a leading "-"; they are
case-sensitive.
"""

import dagster as dg

PARTITION_TAG = "dagster/partition"

videos = dg.DynamicPartitionsDefinition(name="videos")
