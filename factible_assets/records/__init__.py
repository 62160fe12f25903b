"""The data model: a class per warehouse table, all rows of a video, stances and label scales."""
