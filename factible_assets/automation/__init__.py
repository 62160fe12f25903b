"""What happens without anybody at a terminal: sensors, schedules, and jobs of the Dagster UI.

What belongs here: videos that are added, corpora that are imported, nightly re-checks, retention,
notifications. What does not: what a fact-check does (assets/), running one (running/).
"""
