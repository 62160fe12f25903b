"""Readers of pages: what one page says of one claim, by plain rules, entailment or label tokens."""
