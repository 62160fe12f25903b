-- What publishing asks; {names in braces} are paths and names, which take no parameters.

-- name: source
SELECT current_database()

-- name: attach
ATTACH '{path}' AS published_before (READ_ONLY)

-- name: beyond
-- Sets and acts are added and never taken away, so that a copy of the same warehouse holds no more.
SELECT count(*) FROM (
    (
        SELECT asset, video_id, run_id FROM published_before.materializations
        EXCEPT
        SELECT asset, video_id, run_id FROM "{source}".materializations
    )
    UNION ALL
    (
        SELECT 'review', video_id, action_id FROM published_before.review_actions
        EXCEPT
        SELECT 'review', video_id, action_id FROM "{source}".review_actions
    )
)

-- name: detach
DETACH published_before

-- name: attach_copy
ATTACH '{path}' AS publication

-- name: copy
COPY FROM DATABASE "{source}" TO publication

-- name: detach_copy
DETACH publication
