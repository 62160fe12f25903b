"""The reasoner that asks language models: prompts, fences, answers and their checks."""
