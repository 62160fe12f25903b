-- The views of a warehouse and their rows; {view} is a quoted name of a view.

-- name: views
SELECT view_name, list_contains(
    (SELECT list(column_name) FROM duckdb_columns() AS columns
     WHERE columns.table_name = views.view_name AND NOT columns.internal AND columns.database_name = current_database()),
    'video_id'
)
FROM duckdb_views() AS views
WHERE NOT internal AND database_name = current_database()
ORDER BY view_name

-- name: every_row
SELECT * FROM {view}

-- name: rows_of_videos
SELECT * FROM {view} WHERE list_contains($video_ids, video_id)
