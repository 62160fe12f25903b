-- The archive's tables, and the statements that fill and query them.
--
-- :collections is a JSON list of names, or NULL for all documents that are not set apart.
-- :before and :after are ISO dates or NULL.

-- name: schema
-- Version 1. Statements are safe to repeat: several processes may open a new archive at once.

-- One page per collection and canonical URL; has_text = 0 if only a search hit of it is known. The
-- text comes last, so that SQLite reads the other columns without loading it.
CREATE TABLE IF NOT EXISTS documents (
    id INTEGER PRIMARY KEY,
    collection TEXT NOT NULL,
    canonical_url TEXT NOT NULL,
    canonical_final_url TEXT,
    url TEXT NOT NULL,
    final_url TEXT,
    -- 1: a host under a reserved name, which only a search of its own collection may find.
    set_apart INTEGER NOT NULL,
    has_text INTEGER NOT NULL,
    author TEXT,
    published_on TEXT,
    retrieved_at TEXT,
    stored_at TEXT NOT NULL,
    http_status INTEGER,
    byte_count INTEGER,
    etag TEXT,
    last_modified TEXT,
    title TEXT NOT NULL,
    snippet TEXT NOT NULL,
    text TEXT NOT NULL,
    UNIQUE (collection, canonical_url)
);

CREATE INDEX IF NOT EXISTS documents_by_url ON documents (canonical_url);
CREATE INDEX IF NOT EXISTS documents_by_final_url ON documents (canonical_final_url);

-- The results of a search engine, in its order.
CREATE TABLE IF NOT EXISTS recorded_hits (
    collection TEXT NOT NULL,
    query_key TEXT NOT NULL,
    searched_on TEXT NOT NULL,
    document_id INTEGER NOT NULL REFERENCES documents (id),
    rank INTEGER NOT NULL,
    url TEXT NOT NULL,
    title TEXT NOT NULL,
    snippet TEXT NOT NULL,
    PRIMARY KEY (query_key, collection, searched_on, document_id)
) WITHOUT ROWID;

CREATE VIRTUAL TABLE IF NOT EXISTS documents_fts USING fts5 (
    title, snippet, text,
    content = 'documents', content_rowid = 'id',
    tokenize = 'porter unicode61 remove_diacritics 2'
);

CREATE TRIGGER IF NOT EXISTS documents_inserted AFTER INSERT ON documents BEGIN
    INSERT INTO documents_fts (rowid, title, snippet, text)
    VALUES (new.id, new.title, new.snippet, new.text);
END;

CREATE TRIGGER IF NOT EXISTS documents_deleted AFTER DELETE ON documents BEGIN
    INSERT INTO documents_fts (documents_fts, rowid, title, snippet, text)
    VALUES ('delete', old.id, old.title, old.snippet, old.text);
END;

CREATE TRIGGER IF NOT EXISTS documents_updated AFTER UPDATE OF title, snippet, text ON documents BEGIN
    INSERT INTO documents_fts (documents_fts, rowid, title, snippet, text)
    VALUES ('delete', old.id, old.title, old.snippet, old.text);
    INSERT INTO documents_fts (rowid, title, snippet, text)
    VALUES (new.id, new.title, new.snippet, new.text);
END;

-- name: upsert_page
INSERT INTO documents (
    collection, canonical_url, canonical_final_url, url, final_url, set_apart, has_text, author,
    published_on, retrieved_at, stored_at, http_status, byte_count, etag, last_modified, title,
    snippet, text
) VALUES (
    :collection, :canonical_url, :canonical_final_url, :url, :final_url, :set_apart, 1, :author,
    :published_on, :retrieved_at, :stored_at, :http_status, :byte_count, :etag, :last_modified,
    :title, '', :text
)
ON CONFLICT (collection, canonical_url) DO UPDATE SET
    canonical_final_url = excluded.canonical_final_url, url = excluded.url,
    final_url = excluded.final_url, has_text = 1, author = excluded.author,
    published_on = excluded.published_on, retrieved_at = excluded.retrieved_at,
    stored_at = excluded.stored_at, http_status = excluded.http_status,
    byte_count = excluded.byte_count, etag = excluded.etag,
    last_modified = excluded.last_modified,
    title = CASE WHEN excluded.title = '' THEN documents.title ELSE excluded.title END,
    text = excluded.text

-- name: upsert_hit_document
INSERT INTO documents (
    collection, canonical_url, url, set_apart, has_text, stored_at, title, snippet, text
) VALUES (:collection, :canonical_url, :url, :set_apart, 0, :stored_at, :title, :snippet, '')
ON CONFLICT (collection, canonical_url) DO UPDATE SET
    title = CASE WHEN documents.title = '' THEN excluded.title ELSE documents.title END,
    snippet = excluded.snippet
WHERE documents.snippet = '' AND excluded.snippet <> ''
    OR documents.title = '' AND excluded.title <> ''

-- name: upsert_recorded_hit
INSERT INTO recorded_hits (
    collection, query_key, searched_on, document_id, rank, url, title, snippet
)
SELECT :collection, :query_key, :searched_on, id, :rank, :url, :title, :snippet
FROM documents WHERE collection = :collection AND canonical_url = :canonical_url
ON CONFLICT (query_key, collection, searched_on, document_id)
DO UPDATE SET rank = min(recorded_hits.rank, excluded.rank)

-- name: find_page_to_replace
SELECT has_text, retrieved_at, title, author, published_on, text FROM documents
WHERE collection = :collection AND canonical_url = :canonical_url

-- name: find_page
SELECT * FROM documents
WHERE (canonical_url = :canonical_url OR canonical_final_url = :canonical_url)
AND iif(
    :collections IS NULL, set_apart = 0, collection IN (SELECT value FROM json_each(:collections))
)
ORDER BY
    has_text DESC,
    canonical_url = :canonical_url DESC,
    coalesce(retrieved_at, stored_at) DESC
LIMIT 1

-- name: find_recorded
SELECT documents.id, documents.canonical_url, documents.url, hits.snippet
FROM recorded_hits AS hits JOIN documents ON documents.id = hits.document_id
WHERE hits.query_key = :query_key
AND iif(
    :collections IS NULL,
    set_apart = 0,
    hits.collection IN (SELECT value FROM json_each(:collections))
)
-- A comparison with an unknown day, or with no limit, is NULL.
AND coalesce(published_on < :before, TRUE) AND coalesce(published_on >= :after, TRUE)
ORDER BY hits.searched_on DESC, hits.rank, documents.id

-- name: find_ranked
SELECT documents.id, documents.canonical_url, documents.url, '' AS snippet
FROM documents_fts JOIN documents ON documents.id = documents_fts.rowid
WHERE documents_fts MATCH :expression
AND iif(
    :collections IS NULL, set_apart = 0, collection IN (SELECT value FROM json_each(:collections))
)
-- A comparison with an unknown day, or with no limit, is NULL.
AND coalesce(published_on < :before, TRUE) AND coalesce(published_on >= :after, TRUE)
-- The weights of a word in title, recorded snippet and text, and the factor by which a page with
-- text precedes an equally good hit without.
ORDER BY
    bm25(documents_fts, 2.0, 1.5, 1.0) * iif(documents.has_text, 1.5, 1.0),
    documents.id

-- name: show_documents
-- Finding an excerpt takes a time that grows with the square of the text's length, so a book shows
-- its opening.
SELECT
    id, url, title, published_on,
    iif(length(text) > 100000, substr(text, 1, 300), snippet) AS snippet,
    length(text) BETWEEN 1 AND 100000 AS has_excerpt
FROM documents WHERE id IN (SELECT value FROM json_each(:ids))

-- name: show_snippets
-- 30 words are as long as the snippets of search engines.
SELECT rowid, snippet(documents_fts, 2, '', '', ' … ', 30) AS around
FROM documents_fts
WHERE documents_fts MATCH :expression AND rowid IN (SELECT value FROM json_each(:ids))

-- name: find_removed
SELECT id FROM documents
WHERE collection = :collection AND canonical_url IN (SELECT value FROM json_each(:urls))

-- name: remove_hits
DELETE FROM recorded_hits WHERE document_id IN (SELECT value FROM json_each(:ids))

-- name: remove_documents
DELETE FROM documents WHERE id IN (SELECT value FROM json_each(:ids))

-- name: forget_words
-- The index of words keeps those of removed documents until its parts are merged.
INSERT INTO documents_fts (documents_fts) VALUES ('optimize')

-- name: versions
SELECT collection, count(*) || ' ' || max(stored_at) FROM documents GROUP BY collection

-- name: count_pages
SELECT collection, sum(has_text) FROM documents GROUP BY collection ORDER BY collection
