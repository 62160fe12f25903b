"""The one shared partitioning: a partition per video.

What belongs here: the partitions definition. What does not: how partitions come to be added
(automation/, running/).

YouTube ids are safe as keys, a leading "-" included; they are case-sensitive.
"""

import dagster as dg

videos = dg.DynamicPartitionsDefinition(name="videos")
