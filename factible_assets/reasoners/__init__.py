"""Implementations of the four judgements behind `stages.ports.Reasoner`."""
