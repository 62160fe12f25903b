"""The HTML reports: one self-contained file per video, and an index of all of them.

What belongs here: the records that they need (data.py), reading them from a warehouse (reader.py),
arranging them for a reader (view.py, claims.py, index_view.py with passages.py, links.py and
words.py), the pages themselves (render.py with templates, style sheets and scripts), and their
files (writing.py). What does not: any judgement, any other format, Dagster (services/reports.py).
"""
