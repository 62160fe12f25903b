-- Why the embedded engine reads a page as it does.

ALTER TABLE evidence ADD COLUMN ground VARCHAR;
COMMENT ON COLUMN evidence.ground IS 'Why the embedded engine reads the page so: an assertion or denial of the same, another number, the opposite, the same said of another, findings divided both ways, inference; or tone: then the quote is what comes nearest to the claim, and does not state it.';
