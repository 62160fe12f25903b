"""The reasoner that asks language models: its prompts, fences and answers, and what it believes."""
