"""Experiments: the pipeline under many settings over one corpus, and which of them does better.

What belongs here: the format of experiment files, their plan, running them beside the production
rows, comparing their variants. What does not: metrics and tests (evaluation/), the command line
(cli/experiment.py). The files themselves live in `corpora/experiments/*.yaml`.
"""
