-- Verdicts that are reached on six levels of truth.

ALTER TABLE verdicts ADD COLUMN veracity VARCHAR;
COMMENT ON COLUMN verdicts.veracity IS 'The verdict on six levels, where it was reached on them: pants-fire, false, barely-true, half-true, mostly-true or true.';
