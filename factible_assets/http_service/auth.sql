-- The fact-checks that clients launched, kept so that a restart gives nobody a new day.

-- name: table
CREATE TABLE IF NOT EXISTS launches (client TEXT NOT NULL, at REAL NOT NULL);
CREATE INDEX IF NOT EXISTS launches_by_client ON launches (client, at);

-- name: forget
DELETE FROM launches WHERE at <= ?

-- name: launched
SELECT count(*), min(at) FROM launches WHERE client = ?

-- name: count
INSERT INTO launches VALUES (?, ?)
