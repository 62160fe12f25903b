"""The metrics, each defined where it is computed: formula, source, and when it is undefined.

What belongs here: one module per kind of question: `claims` (what was found), `stances` (what was
said of it), `evidence` (what it rests on), `operations` (what it took). What does not: averages
over videos (measures.py), matching, intervals, thresholds of acceptance (checks).
"""
