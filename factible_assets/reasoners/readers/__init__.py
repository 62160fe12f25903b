"""Readers of pages: the side of one page on one claim, by plain rules or by models."""
