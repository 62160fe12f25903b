-- A small language model can read pages by the probabilities of label words.

COMMENT ON COLUMN verdicts.basis IS 'Who read the pages: embedded (rules or an entailment model), labels (label probabilities of a small language model), both automatic leanings, or llm (a large language model).';
COMMENT ON COLUMN evidence.basis IS 'Who read the page: embedded (rules or an entailment model), labels (label probabilities of a small language model) or llm (a large language model).';
COMMENT ON COLUMN evidence.ground IS 'Why the page takes its side: it states the claim (assertion), denies it (denial), gives another figure (number) or name (name), answers the claim as a question (answer) or rates it (rating); or a model says so: inference (an entailment model) or label (a small language model).';
