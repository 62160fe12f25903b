-- The plan of re-checks, the changes between checks, and the state of page texts.
--
-- The schedule, the command line and SQL queries all read the plan from here. It is a macro, because a
-- plan is for one moment; the view shows the plan of the next night.

CREATE OR REPLACE MACRO recheck_plan_at(as_of, in_flight) AS TABLE
WITH limits AS (
    SELECT
        videos_per_night,
        coalesce(cost_per_night_usd, 'Infinity'::DOUBLE) AS cost_per_night_usd,
        -- A night is not exactly a day after the last one: its runs end later than its tick.
        to_microseconds(CAST(86_400_000_000 * minimum_age_days AS BIGINT)) - INTERVAL 6 HOUR AS minimum_age
    FROM recheck_settings
    LIMIT 1
),
claim_counts AS (
    SELECT
        claims.video_id,
        count(*) AS claims,
        count(*) FILTER (verdicts.claim_id IS NULL OR verdicts.latest_status = 'incomplete') AS incomplete_claims,
        count(*) FILTER (verdicts.latest_status = 'complete' AND verdicts.recheck_due) AS open_claims,
        count(*) FILTER (verdicts.status = 'complete' AND verdicts.confidence = 'low') AS low_confidence_claims
    FROM current_claims AS claims
    LEFT JOIN current_verdicts AS verdicts USING (claim_id, video_id)
    GROUP BY claims.video_id
),
-- One row per check, and whether services left part of it open.
checks AS (
    SELECT
        judged.video_id,
        judged.checked_at,
        coalesce(bool_or(verdicts.status = 'incomplete' OR verdicts.recheck_due), false) AS failed
    FROM materializations AS judged
    LEFT JOIN verdict_history AS verdicts USING (video_id, run_id)
    -- A run of some claims does not check the video as a whole.
    ANTI JOIN carried_claims USING (video_id, run_id)
    WHERE judged.asset = 'verdicts'
    GROUP BY judged.video_id, judged.run_id, judged.checked_at
),
checked AS (
    SELECT
        video_id,
        max(checked_at) AS last_checked_at,
        max(checked_at) FILTER (NOT failed) AS last_completed_at
    FROM checks
    GROUP BY video_id
),
-- Failed attempts since the last good check. A run that failed as a whole left no verdicts, but its launch counts.
attempts AS (
    SELECT video_id, checked_at AS attempted_at
    FROM checks
    LEFT JOIN checked USING (video_id)
    WHERE failed AND checked_at > coalesce(last_completed_at, '-infinity'::TIMESTAMPTZ)
    UNION ALL
    SELECT video_id, planned_at
    FROM recheck_launches
    LEFT JOIN checked USING (video_id)
    WHERE planned_at > coalesce(last_checked_at, '-infinity'::TIMESTAMPTZ) AND planned_at < as_of
),
failures AS (
    SELECT video_id, count(*) AS failed_attempts, max(attempted_at) AS last_attempt_at
    FROM attempts
    GROUP BY video_id
),
-- Actions of reviewers on queries that no run has applied yet.
open_actions AS (
    SELECT DISTINCT video_id, claim_id
    FROM review_actions
    ANTI JOIN review_applications USING (action_id)
    WHERE action IN ('add_query', 'edit_query', 'remove_query')
),
missing_queries AS (
    SELECT
        claims.video_id,
        bool_or(
            queries.claim_id IS NULL OR queries.status = 'infra_error' OR open_actions.claim_id IS NOT NULL
        ) AS with_queries
    FROM current_claims AS claims
    LEFT JOIN current_queries AS queries USING (claim_id, video_id)
    LEFT JOIN open_actions USING (claim_id, video_id)
    GROUP BY claims.video_id
),
recent_costs AS (
    SELECT
        video_id,
        run_id,
        max(checked_at) AS checked_at,
        coalesce(sum(cost_usd) FILTER (stage IN ('evidence', 'verdicts')), 0) AS cost_usd,
        coalesce(sum(cost_usd) FILTER (stage = 'queries'), 0) AS queries_cost_usd
    FROM llm_calls
    WHERE stage <> 'claims'
    GROUP BY video_id, run_id
    QUALIFY row_number() OVER (PARTITION BY video_id ORDER BY max(checked_at) DESC, run_id DESC) <= 3
),
costs AS (
    SELECT video_id, max(cost_usd) AS cost_usd, max(queries_cost_usd) AS queries_cost_usd
    FROM recent_costs
    GROUP BY video_id
),
average AS (
    SELECT sum(cost_usd) / sum(claims) AS cost_per_claim_usd
    FROM costs
    JOIN claim_counts USING (video_id)
),
candidates AS (
    SELECT
        claim_counts.*,
        videos.title,
        videos.corpus,
        checked.last_checked_at,
        coalesce(failures.failed_attempts, 0) AS failed_attempts,
        failures.last_attempt_at,
        missing_queries.with_queries,
        CASE
            -- After six failures in a row, over a month, the video loses its precedence.
            WHEN coalesce(failures.failed_attempts, 0) >= 6 THEN 3
            WHEN claim_counts.incomplete_claims > 0 THEN 1
            WHEN claim_counts.open_claims + claim_counts.low_confidence_claims > 0 THEN 2
            ELSE 3
        END AS priority,
        coalesce(
            costs.cost_usd + CASE WHEN missing_queries.with_queries THEN costs.queries_cost_usd ELSE 0 END,
            average.cost_per_claim_usd * claim_counts.claims,
            0
        ) AS estimated_cost_usd,
        date_diff('second', checked.last_checked_at, as_of) / 86400 AS age_days,
        CASE
            WHEN coalesce(failures.failed_attempts, 0) < 2 THEN '-infinity'::TIMESTAMPTZ
            ELSE failures.last_attempt_at
                + to_days(CAST(least(pow(2, least(failures.failed_attempts, 9) - 2), 16) AS INTEGER))
                - INTERVAL 6 HOUR
        END AS retry_from,
        CASE
            WHEN claim_counts.incomplete_claims + claim_counts.open_claims > 0 OR checked.last_checked_at IS NULL
                THEN '-infinity'::TIMESTAMPTZ
            ELSE checked.last_checked_at + limits.minimum_age
        END AS fresh_until,
        limits.videos_per_night,
        limits.cost_per_night_usd
    FROM claim_counts
    CROSS JOIN limits
    CROSS JOIN average
    LEFT JOIN checked USING (video_id)
    LEFT JOIN failures USING (video_id)
    LEFT JOIN missing_queries USING (video_id)
    LEFT JOIN costs USING (video_id)
    LEFT JOIN current_videos AS videos USING (video_id)
),
classified AS (
    SELECT
        *,
        CASE
            WHEN list_contains(CAST(in_flight AS VARCHAR[]), video_id) THEN 'in_flight'
            WHEN retry_from > as_of THEN 'backing_off'
            WHEN fresh_until > as_of THEN 'too_fresh'
            WHEN estimated_cost_usd > cost_per_night_usd THEN 'too_expensive'
            ELSE 'due'
        END AS state
    FROM candidates
),
ordered AS (
    SELECT
        *,
        count(*) FILTER (state = 'due') OVER by_priority AS queue_position,
        sum(estimated_cost_usd) FILTER (state = 'due') OVER by_priority AS cost_so_far_usd
    FROM classified
    WINDOW by_priority AS (
        ORDER BY
            priority,
            greatest(
                coalesce(last_checked_at, '-infinity'::TIMESTAMPTZ),
                coalesce(last_attempt_at, '-infinity'::TIMESTAMPTZ)
            ),
            video_id
        ROWS UNBOUNDED PRECEDING
    )
),
decided AS (
    SELECT
        *,
        CASE
            WHEN state <> 'due' THEN state
            WHEN queue_position > videos_per_night THEN 'over_limit'
            WHEN cost_so_far_usd > cost_per_night_usd THEN 'over_cost'
            ELSE 'planned'
        END AS decision
    FROM ordered
)
SELECT
    CASE WHEN decision = 'planned' THEN queue_position END AS position,
    video_id,
    title,
    decision,
    CASE
        WHEN incomplete_claims > 0 THEN format('{} of {} verdicts incomplete', incomplete_claims, claims)
        WHEN open_claims > 0 THEN format('{} of {} verdicts could be surer', open_claims, claims)
        WHEN low_confidence_claims > 0
            THEN format('{} of {} verdicts of low confidence', low_confidence_claims, claims)
        ELSE 'all verdicts complete'
    END
    || CASE
        WHEN last_checked_at IS NULL THEN ', never judged'
        ELSE strftime(last_checked_at, ', last checked %Y-%m-%d')
    END
    || CASE WHEN failed_attempts > 0 THEN format('; {} failed in a row', failed_attempts) ELSE '' END
    || CASE decision
        WHEN 'planned' THEN ''
        WHEN 'in_flight' THEN '; a run is in flight'
        WHEN 'backing_off' THEN strftime(retry_from, '; tried again from %Y-%m-%d %H:%M')
        WHEN 'too_fresh' THEN strftime(fresh_until, '; fresh until %Y-%m-%d %H:%M')
        WHEN 'too_expensive' THEN '; costs more than a night may'
        WHEN 'over_limit' THEN '; the night has enough videos'
        ELSE '; the night has cost enough'
    END AS reason,
    priority,
    claims,
    incomplete_claims,
    low_confidence_claims,
    last_checked_at,
    age_days,
    failed_attempts,
    with_queries,
    estimated_cost_usd,
    CASE WHEN decision = 'planned' THEN cost_so_far_usd END AS cost_so_far_usd,
    corpus,
    CAST(as_of AS TIMESTAMPTZ) AS planned_for
FROM decided
ORDER BY decision <> 'planned', queue_position, priority, last_checked_at, video_id;
COMMENT ON MACRO TABLE recheck_plan_at IS 'The plan of re-checks for a moment (UTC), without the videos whose runs are in flight: recheck_plan_at(as_of, in_flight).';

CREATE OR REPLACE VIEW recheck_plan AS  -- The plan of the next night: the videos to check again, in order, and the videos that wait, each with the reason. Videos with a run in progress are left out when the night comes.
SELECT
    position,  -- Place in the night's list, from 1; null for a video that is not on it.
    video_id,  -- The video.
    title,  -- Title of the video.
    decision,  -- planned, or the reason against it: too_fresh, backing_off (it keeps failing), too_expensive (on its own), over_limit or over_cost (the night is full), in_flight.
    reason,  -- The decision in words.
    priority,  -- 1: a verdict is incomplete or missing; 2: missing sources could make a verdict surer, or a verdict has low confidence; 3: all others, and videos whose last six checks failed or stayed incomplete. Within a priority, the longest unchecked video comes first.
    claims,  -- Claims of the video.
    incomplete_claims,  -- Claims whose newest check is incomplete, or that were never judged.
    low_confidence_claims,  -- Claims whose verdict has low confidence.
    last_checked_at,  -- Time of the newest check with verdicts (UTC).
    age_days,  -- Days from that check to the planned moment.
    failed_attempts,  -- Consecutive checks that failed or stayed incomplete. From the second failure on, the next check waits 1 day, then 2, 4, 8, at most 16.
    with_queries,  -- Whether the check also writes queries: a service failed to write some, or a reviewer corrected some.
    estimated_cost_usd,  -- Expected cost in US dollars: the maximum of the video's last three checks, else the average cost of as many claims of other videos.
    cost_so_far_usd,  -- The sum of the expected costs up to this position.
    corpus,  -- The corpus file that lists the video.
    planned_for  -- The moment of the plan (UTC): the next tick of the schedule, or now if none is known.
FROM recheck_plan_at(
    (SELECT greatest(now(), max(next_tick_at)) FROM recheck_settings), []
);

CREATE OR REPLACE VIEW evidence_checks AS  -- One row per claim and check of its evidence, in order.
WITH evidence_runs AS (
    SELECT gathered.video_id, gathered.run_id, gathered.checked_at, found.run_id AS search_run_id
    FROM materializations AS gathered
    JOIN materializations AS found
        ON found.asset = 'search_hits'
        AND found.video_id = gathered.video_id
        AND (found.run_id = gathered.run_id OR found.checked_at <= gathered.checked_at)
    WHERE gathered.asset = 'evidence'
    QUALIFY row_number() OVER (
        PARTITION BY gathered.video_id, gathered.run_id
        ORDER BY found.run_id = gathered.run_id DESC, found.checked_at DESC, found.run_id DESC
    ) = 1
),
search_outcomes AS (
    SELECT video_id, run_id, claim_id, bool_or(status = 'infra_error') AS failed
    FROM searches
    GROUP BY video_id, run_id, claim_id
)
SELECT
    evidence_runs.video_id,  -- The video.
    search_outcomes.claim_id,  -- The claim.
    evidence_runs.run_id,  -- The run that gathered the evidence.
    evidence_runs.checked_at,  -- Time of that run's check (UTC).
    NOT search_outcomes.failed AS searches_complete,  -- Whether all searches for the claim were answered. Otherwise a missing source may not have vanished.
    row_number() OVER (
        PARTITION BY evidence_runs.video_id, search_outcomes.claim_id ORDER BY evidence_runs.checked_at, evidence_runs.run_id
    ) AS check_number  -- Number of the check of this claim, from 1.
FROM evidence_runs
JOIN search_outcomes ON search_outcomes.video_id = evidence_runs.video_id AND search_outcomes.run_id = evidence_runs.search_run_id
-- A claim that a run took over unchecked was not checked by it.
ANTI JOIN carried_claims AS carried
    ON carried.video_id = evidence_runs.video_id
    AND carried.run_id = evidence_runs.run_id
    AND carried.claim_id = search_outcomes.claim_id;

CREATE OR REPLACE VIEW evidence_overlap AS  -- The overlap of the sources of two consecutive checks: one row per claim and pair of checks.
WITH sources AS (
    SELECT
        checks.video_id,
        checks.claim_id,
        checks.run_id,
        checks.checked_at,
        checks.searches_complete,
        coalesce(list(DISTINCT evidence.canonical_url) FILTER (evidence.status <> 'skipped'), []) AS urls
    FROM evidence_checks AS checks
    LEFT JOIN evidence USING (video_id, run_id, claim_id)
    GROUP BY ALL
),
pairs AS (
    SELECT
        *,
        lag(run_id) OVER in_time AS previous_run_id,
        lag(checked_at) OVER in_time AS previous_checked_at,
        lag(searches_complete) OVER in_time AS previous_searches_complete,
        lag(urls) OVER in_time AS previous_urls
    FROM sources
    WINDOW in_time AS (PARTITION BY video_id, claim_id ORDER BY checked_at, run_id)
)
SELECT
    pairs.video_id,  -- The video.
    pairs.claim_id,  -- The claim.
    wordings.text AS claim,  -- Wording of the claim.
    len(previous_urls) AS previous_sources,  -- URLs that the previous check wanted to read, without those that a rule skipped.
    len(urls) AS sources,  -- URLs that this check wanted to read.
    len(list_intersect(previous_urls, urls)) AS shared,  -- URLs in both.
    shared / nullif(len(list_distinct(list_concat(previous_urls, urls))), 0) AS jaccard,  -- Jaccard index of the two sets: shared URLs by all URLs, from 0 to 1; null if both are empty.
    searches_complete AND previous_searches_complete AS searches_complete,  -- Whether all searches of both checks were answered. If not, an outage lowers the overlap.
    previous_checked_at,  -- Time of the previous check (UTC).
    checked_at,  -- Time of the new check (UTC).
    previous_run_id,  -- The run before.
    run_id  -- The run after.
FROM pairs
LEFT JOIN (SELECT claim_id, max(text) AS text FROM claims GROUP BY claim_id) AS wordings USING (claim_id)
WHERE previous_run_id IS NOT NULL;

CREATE OR REPLACE VIEW source_changes AS  -- Changes of the sources of each claim between its checks: one row per source and change. Outages are no changes: a page that could not be fetched is compared with its next answer.
WITH
-- Observations of each check about each source. A failed fetch says nothing about its page, and a
-- failed search nothing about other sources.
sightings AS (
    SELECT
        evidence.video_id,
        evidence.claim_id,
        evidence.canonical_url,
        evidence.domain,
        evidence.run_id,
        evidence.checked_at,
        checks.check_number,
        pages.http_status,
        evidence.reason,
        CASE
            WHEN pages.status = 'ok' THEN 'readable'
            WHEN pages.status = 'no_evidence' THEN 'unreadable'
        END AS state,
        CASE WHEN pages.status = 'ok' AND pages.via <> 'snippet' THEN pages.content_hash END AS content_hash
    FROM evidence
    JOIN evidence_checks AS checks USING (video_id, claim_id, run_id)
    -- Not by URL: after a check of one claim, two readings of a page can stand side by side.
    LEFT JOIN pages USING (video_id, run_id, page_id)
),
whole_checks AS (
    SELECT
        *,
        lag(run_id) OVER in_time AS previous_run_id,
        lag(checked_at) OVER in_time AS previous_checked_at
    FROM evidence_checks
    WHERE searches_complete
    WINDOW in_time AS (PARTITION BY video_id, claim_id ORDER BY check_number)
),
appeared AS (
    SELECT
        now.video_id, now.claim_id, now.canonical_url, now.domain, 'appeared' AS change,
        NULL::VARCHAR AS previous_content_hash, now.content_hash, now.http_status, NULL::VARCHAR AS reason,
        checks.previous_checked_at, now.checked_at, checks.previous_run_id, now.run_id
    FROM whole_checks AS checks
    JOIN sightings AS now USING (video_id, claim_id, run_id)
    ANTI JOIN sightings AS earlier
        ON earlier.video_id = checks.video_id
        AND earlier.claim_id = checks.claim_id
        AND earlier.run_id = checks.previous_run_id
        AND earlier.canonical_url = now.canonical_url
    WHERE checks.previous_run_id IS NOT NULL
),
vanished AS (
    SELECT
        earlier.video_id, earlier.claim_id, earlier.canonical_url, earlier.domain, 'vanished' AS change,
        earlier.content_hash AS previous_content_hash, NULL::VARCHAR AS content_hash, NULL::BIGINT AS http_status,
        'No search of the check finds it any more.' AS reason,
        checks.previous_checked_at, checks.checked_at, checks.previous_run_id, checks.run_id
    FROM whole_checks AS checks
    JOIN sightings AS earlier
        ON earlier.video_id = checks.video_id
        AND earlier.claim_id = checks.claim_id
        AND earlier.run_id = checks.previous_run_id
    ANTI JOIN sightings AS now
        ON now.video_id = checks.video_id
        AND now.claim_id = checks.claim_id
        AND now.run_id = checks.run_id
        AND now.canonical_url = earlier.canonical_url
),
-- Each observation of a page is compared with the previous one, however old.
observations AS (
    SELECT
        *,
        lag(state) OVER in_time AS previous_state,
        lag(content_hash) OVER in_time AS previous_content_hash,
        lag(checked_at) OVER in_time AS previous_checked_at,
        lag(run_id) OVER in_time AS previous_run_id
    FROM sightings
    WHERE state IS NOT NULL
    WINDOW in_time AS (PARTITION BY video_id, claim_id, canonical_url ORDER BY check_number)
),
page_changes AS (
    SELECT
        video_id, claim_id, canonical_url, domain,
        CASE
            WHEN state = 'unreadable' AND previous_state = 'readable' AND http_status IN (404, 410) THEN 'gone'
            WHEN state = 'unreadable' AND previous_state = 'readable' THEN 'withheld'
            WHEN state = 'readable' AND previous_state = 'unreadable' THEN 'back'
            WHEN content_hash <> previous_content_hash THEN 'text_changed'
        END AS change,
        previous_content_hash, content_hash, http_status,
        CASE WHEN state = 'unreadable' THEN reason END AS reason,
        previous_checked_at, checked_at, previous_run_id, run_id
    FROM observations
),
changes AS (
    SELECT * FROM appeared
    UNION ALL
    SELECT * FROM vanished
    UNION ALL
    SELECT * FROM page_changes WHERE change IS NOT NULL
)
SELECT
    changes.video_id,  -- The video.
    changes.claim_id,  -- The claim.
    wordings.text AS claim,  -- Wording of the claim.
    changes.canonical_url AS url,  -- URL of the source, in its canonical form.
    changes.domain,  -- Registrable domain.
    changes.change,  -- appeared or vanished in the search results; text_changed; gone (404 or 410), withheld (the site answers without text), or back.
    changes.previous_content_hash,  -- The text before: key into page_texts, or trimmed_texts.
    changes.content_hash,  -- The text after.
    changes.http_status,  -- Status code of the site's newest answer.
    changes.reason,  -- Reason why the page has no text any more.
    changes.previous_checked_at,  -- Time of the previous state (UTC).
    changes.checked_at,  -- Time of the check that found the change (UTC).
    changes.previous_run_id,  -- The run that found the state before.
    changes.run_id  -- The run that found the change.
FROM changes
LEFT JOIN (SELECT claim_id, max(text) AS text FROM claims GROUP BY claim_id) AS wordings USING (claim_id);

CREATE OR REPLACE VIEW text_states AS  -- Every text that evidence or a page refers to, and whether it is still stored. A quote in a trimmed text cannot be checked any more; a missing text is a defect.
WITH used AS (
    SELECT content_hash, checked_at FROM pages WHERE content_hash IS NOT NULL
    UNION ALL
    SELECT content_hash, checked_at FROM evidence WHERE content_hash IS NOT NULL
),
needed AS (
    SELECT content_hash FROM verdict_evidence WHERE content_hash IS NOT NULL
    UNION
    SELECT content_hash FROM current_evidence WHERE content_hash IS NOT NULL
    UNION
    SELECT content_hash FROM current_pages WHERE content_hash IS NOT NULL
)
SELECT
    used.content_hash,  -- SHA-256 of the text, hexadecimal.
    CASE
        WHEN texts.content_hash IS NOT NULL THEN 'stored'
        WHEN trimmed.content_hash IS NOT NULL THEN 'trimmed'
        ELSE 'missing'
    END AS state,  -- stored; trimmed: removed because of its age; missing: neither, which should not be.
    coalesce(any_value(length(texts.text)), any_value(trimmed.characters)) AS characters,  -- Length of the text in code points.
    max(used.checked_at) AS last_used_at,  -- Time of the last check that read the text (UTC).
    count(needed.content_hash) > 0 AS is_current,  -- Whether a current verdict rests on it, or the newest evidence was sought in it. Such texts are never trimmed.
    any_value(trimmed.trimmed_at) FILTER (texts.content_hash IS NULL) AS trimmed_at  -- Time of the removal (UTC).
FROM used
LEFT JOIN page_texts AS texts USING (content_hash)
LEFT JOIN trimmed_texts AS trimmed USING (content_hash)
LEFT JOIN needed USING (content_hash)
GROUP BY used.content_hash, texts.content_hash, trimmed.content_hash;
