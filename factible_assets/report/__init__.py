"""The HTML reports: one self-contained file per video, and an index of all of them.

What belongs here: the records that they need and reading them from a warehouse (data.py), arranging
them for a reader (view.py), the pages themselves (render.py with templates, style sheets and
scripts), and their files with the index (writing.py). What does not: any judgement, any other
format, Dagster (services/reports.py).
"""
