"""The predecessor's published evaluation, recomputed from its published outputs.

What belongs here: its layout, the definitions behind its numbers, the comparison cell by cell, its
printing by `factible evaluate --published`. What does not: how this project's own runs are
evaluated (factible_assets/evaluation).

Reproducing those numbers shows that this project's matching and metrics measure the same thing.
"""
