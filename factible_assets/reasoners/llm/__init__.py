"""The reasoner that asks language models: prompts, fences, answers, and what is believed of them."""
