-- Whether services failed and left part of a verdict open.

ALTER TABLE verdicts ADD COLUMN recheck_due BOOLEAN DEFAULT false;
COMMENT ON COLUMN verdicts.recheck_due IS 'Whether services failed and left something open: the stance, how sure it is, or its words. The next re-check sees to it. Rows of before the column say so by their status alone.';
COMMENT ON COLUMN verdicts.status IS 'complete, or incomplete where services failed and what is missing could change the stance.';
