-- What the history of metrics asks.

-- name: forget
DELETE FROM metrics WHERE run_id = ? AND corpus = ?
