-- The runs that retention keeps.

-- name: runs_of_newest_sets
SELECT DISTINCT run_id FROM current_materializations
