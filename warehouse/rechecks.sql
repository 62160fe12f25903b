-- Queries of the plan of re-checks; {columns} are those of PlanEntry.

-- name: plan
SELECT {columns} FROM recheck_plan_at(?::TIMESTAMP, ?::VARCHAR[])

-- name: store_limits
UPDATE recheck_settings
SET videos_per_night = $videos, cost_per_night_usd = $cost, minimum_age_days = $age,
    next_tick_at = coalesce($next, next_tick_at)
WHERE (videos_per_night, cost_per_night_usd, minimum_age_days, next_tick_at)
    IS DISTINCT FROM ($videos, $cost, $age, coalesce($next, next_tick_at))

-- name: forget
DELETE FROM recheck_launches WHERE video_id = ? AND planned_at = ?

-- name: launched
SELECT launches.video_id, planned_at, reason, with_queries, videos.corpus
FROM recheck_launches AS launches
LEFT JOIN current_videos AS videos USING (video_id)
WHERE planned_at = ?
ORDER BY position
