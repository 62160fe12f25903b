-- Sources whose page is due while their snippet speaks, and how often a paper is cited.

ALTER TABLE evidence ADD COLUMN page_due BOOLEAN DEFAULT false;
COMMENT ON COLUMN evidence.page_due IS 'Whether the page itself could not be fetched because a service failed: what was read is its search snippet, and the next re-check asks for the page.';

ALTER TABLE search_hits ADD COLUMN citation_count BIGINT;
COMMENT ON COLUMN search_hits.citation_count IS 'How often the paper is cited, if the provider knows papers.';

