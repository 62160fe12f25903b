-- One file of cached answers. Times are in seconds since 1970.

-- name: schema
CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL,  -- JSON
    stored_at REAL NOT NULL,
    expires_at REAL NOT NULL,
    used_at REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS answers_by_expiry ON answers (expires_at);
CREATE INDEX IF NOT EXISTS answers_by_use ON answers (used_at)

-- name: find
SELECT key, value, stored_at, used_at FROM answers
WHERE key IN (SELECT value FROM json_each(:keys)) AND expires_at > :now AND json_valid(value)

-- name: touch
UPDATE answers SET used_at = :now WHERE key IN (SELECT value FROM json_each(:keys))

-- name: keep
INSERT OR REPLACE INTO answers (key, value, stored_at, expires_at, used_at)
VALUES (?, ?, ?, ?, ?)

-- name: forget_expired
DELETE FROM answers WHERE expires_at < :now

-- name: forget_unused
DELETE FROM answers WHERE used_at < :unused_since

-- name: forget_longest_unused
DELETE FROM answers WHERE key IN (
    SELECT key FROM answers ORDER BY used_at LIMIT (SELECT 1 + count(*) / 50 FROM answers)
)

-- name: forget_all
DELETE FROM answers

-- name: count_about
SELECT count(*) FROM answers
WHERE CASE WHEN json_valid(value) THEN EXISTS (
    SELECT 1 FROM json_tree(answers.value) AS part
    WHERE part.type = 'text' AND part.value IN (SELECT value FROM json_each(:texts))
) ELSE FALSE END

-- name: forget_about
DELETE FROM answers
WHERE CASE WHEN json_valid(value) THEN EXISTS (
    SELECT 1 FROM json_tree(answers.value) AS part
    WHERE part.type = 'text' AND part.value IN (SELECT value FROM json_each(:texts))
) ELSE FALSE END

-- name: size
SELECT (page_count - freelist_count) * page_size
FROM pragma_page_count, pragma_freelist_count, pragma_page_size

-- name: count
SELECT count(*), min(used_at) FROM answers WHERE expires_at > :now
