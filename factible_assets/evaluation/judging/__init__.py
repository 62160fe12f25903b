"""A language model as judge: what is judged, by which criteria, how, and how well.

What belongs here: criteria, the material that a judge is shown, asking, agreement with people. What
does not: which model is asked and what it may cost (services/reasoning.py), storing (warehouse/),
the order of the questions and resumption (runs/judge.py).
"""
