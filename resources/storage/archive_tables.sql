-- The archive's tables, version 1. Statements are safe to repeat: several processes may open a new
-- archive at once.

-- One page, or one page of which only a search hit is known (has_text = 0), per collection and
-- canonical URL. The text comes last, so that the other columns are read without loading it.
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

-- What a search engine answered, in its order.
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
