"""A language model as judge: criteria, questions, answers, and agreement with people."""
