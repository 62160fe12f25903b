"""Running a fact-check: what the command line, the service and Dagster's workers have in common.

What belongs here: starting a run, who is alive, whose turn it is, what still stands. What does not:
what a run does (assets/), commands (cli/), routes (http_service/).
"""
