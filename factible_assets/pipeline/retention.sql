-- What retention asks of the warehouse.

-- name: runs_of_newest_sets
SELECT DISTINCT run_id FROM current_materializations
