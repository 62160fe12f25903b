-- Launches and sessions, which survive a restart.

-- name: tables
CREATE TABLE IF NOT EXISTS launches (client TEXT NOT NULL, at REAL NOT NULL);
CREATE INDEX IF NOT EXISTS launches_by_client ON launches (client, at);
CREATE TABLE IF NOT EXISTS sessions (digest BLOB PRIMARY KEY, client TEXT NOT NULL, until REAL NOT NULL);

-- name: forget
DELETE FROM launches WHERE at <= ?

-- name: launched
SELECT count(*), min(at) FROM launches WHERE client = ?

-- name: count
INSERT INTO launches VALUES (?, ?)

-- name: begin
INSERT INTO sessions VALUES (?, ?, ?)

-- name: signed_in
SELECT client FROM sessions WHERE digest = ? AND until > ?

-- name: end
DELETE FROM sessions WHERE digest = ? OR until <= ?
