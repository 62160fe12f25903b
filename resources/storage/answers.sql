-- The file of cached answers. Times are in seconds since 1970, sizes in bytes.

-- name: schema
CREATE TABLE IF NOT EXISTS answers (
    kind TEXT NOT NULL,
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL,  -- JSON
    size INTEGER NOT NULL,
    stored_at REAL NOT NULL,
    expires_at REAL NOT NULL,
    used_at REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS answers_by_expiry ON answers (expires_at);
CREATE INDEX IF NOT EXISTS answers_by_use ON answers (kind, used_at, size)

-- name: find
SELECT key, value, stored_at, used_at FROM answers
WHERE key IN (SELECT value FROM json_each(:keys)) AND expires_at > :now AND json_valid(value)

-- name: touch
UPDATE answers SET used_at = :now WHERE key IN (SELECT value FROM json_each(:keys))

-- name: keep
INSERT OR REPLACE INTO answers (kind, key, value, size, stored_at, expires_at, used_at)
VALUES (:kind, :key, :value, :size, :stored_at, :expires_at, :now)

-- name: forget_expired
DELETE FROM answers WHERE expires_at < :now

-- name: forget_unused
DELETE FROM answers WHERE used_at < :unused_since OR expires_at < :now RETURNING kind

-- name: forget_longest_unused
-- The answers beyond the room of a kind, least recently used first.
DELETE FROM answers WHERE rowid IN (
    SELECT id FROM (
        SELECT rowid AS id, sum(size) OVER (ORDER BY used_at DESC, rowid DESC) AS room
        FROM answers WHERE kind = :kind
    ) WHERE room > :max_bytes
)

-- name: clear
DELETE FROM answers WHERE kind = coalesce(:kind, kind) RETURNING kind

-- name: about
-- Vectors reveal no text.
SELECT key, kind FROM answers
WHERE kind <> 'vectors' AND CASE WHEN json_valid(value) THEN EXISTS (
    SELECT 1 FROM json_tree(answers.value) AS part
    WHERE part.type = 'text' AND part.value IN (SELECT value FROM json_each(:texts))
) ELSE FALSE END

-- name: forget
DELETE FROM answers WHERE key IN (SELECT value FROM json_each(:keys)) RETURNING kind

-- name: count
SELECT kind, count(*) AS entries, sum(size) AS bytes, min(used_at) AS oldest
FROM answers WHERE expires_at > :now GROUP BY kind
