-- The index of the miniature web's search engine.

-- name: create
CREATE VIRTUAL TABLE IF NOT EXISTS pages USING fts5 (
    title, text, url UNINDEXED, published_on UNINDEXED, tokenize = 'porter unicode61'
)

-- name: add
INSERT INTO pages (url, title, text, published_on) VALUES (?, ?, ?, ?)

-- name: search
SELECT url, title, published_on, snippet(pages, 1, '', '', ' ... ', 30)
FROM pages
WHERE pages MATCH :expression
AND (:first_day IS NULL OR published_on >= :first_day)
AND (:last_day IS NULL OR published_on <= :last_day)
ORDER BY bm25(pages, 3.0, 1.0), url
LIMIT :limit OFFSET :skipped
