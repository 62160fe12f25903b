"""Running a fact-check: what the command line, the service and Dagster's workers have in common.

What belongs here: who is alive and whose turn it is. What does not: what a run does (assets/),
commands (cli/), routes (http_service/).
"""
