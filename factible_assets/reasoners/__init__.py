"""The four judgements behind one protocol (stages.ports.Reasoner)."""
