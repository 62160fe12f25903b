-- What a language model, asked as a judge, thinks of claims, queries, evidence and verdicts, and what
-- asking it took. The judge stands outside of the pipeline: no asset reads these rows, and the calls
-- are no rows of llm_calls, in which each asset owns the calls of its stage.

CREATE TABLE judgements (
    judgement_id VARCHAR NOT NULL,
    judging_id VARCHAR NOT NULL,
    video_id VARCHAR NOT NULL,
    claim_id VARCHAR NOT NULL,
    subject_kind VARCHAR NOT NULL CHECK (subject_kind IN ('claim', 'query', 'evidence', 'verdict')),
    subject_id VARCHAR NOT NULL,
    criterion VARCHAR NOT NULL CHECK (criterion IN (
        'claim_quality', 'query_relevance', 'evidence_relevance', 'explanation_quality',
        'reasoning_hallucination', 'evidence_hallucination', 'label_justification'
    )),
    outcome VARCHAR NOT NULL CHECK (outcome IN ('ok', 'invalid', 'truncated', 'refused', 'infra_error')),
    score BIGINT CHECK (score BETWEEN 0 AND 2),
    normalised DOUBLE CHECK (normalised BETWEEN 0 AND 1),
    reason VARCHAR NOT NULL CHECK (length(reason) >= 1),
    quote VARCHAR,
    provider VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    prompt_version VARCHAR NOT NULL,
    question_hash VARCHAR NOT NULL,
    calls BIGINT NOT NULL CHECK (calls >= 0),
    cost_usd DOUBLE NOT NULL CHECK (cost_usd >= 0 AND isfinite(cost_usd)),
    price_known BOOLEAN NOT NULL,
    judged_at TIMESTAMP NOT NULL,
    PRIMARY KEY (judgement_id, judging_id),
    CHECK ((outcome = 'ok') = (score IS NOT NULL)),
    CHECK ((score IS NULL) = (normalised IS NULL)),
    CHECK ((score IS NULL) = (quote IS NULL))
);
COMMENT ON TABLE judgements IS 'What a language model as judge said of one subject by one criterion. An outage is a row without a score, never a score.';
COMMENT ON COLUMN judgements.judgement_id IS 'Identifier of the question: subject, criterion, judge, version of the prompt and everything that the judge was shown. What was answered once is not asked again.';
COMMENT ON COLUMN judgements.judging_id IS 'The run of `factible judge` that asked.';
COMMENT ON COLUMN judgements.video_id IS 'The video.';
COMMENT ON COLUMN judgements.claim_id IS 'The claim that the subject belongs to.';
COMMENT ON COLUMN judgements.subject_kind IS 'What was judged: a claim, a query, a piece of evidence or a verdict.';
COMMENT ON COLUMN judgements.subject_id IS 'claim_id, query_id or evidence_id; for a verdict the claim_id.';
COMMENT ON COLUMN judgements.criterion IS 'By which criterion; factible_assets/evaluation/judging/criteria.py says what each means and where it comes from.';
COMMENT ON COLUMN judgements.outcome IS 'ok; invalid: not of the form asked for, or resting on words that stand nowhere in the material; truncated; refused; infra_error: the service failed.';
COMMENT ON COLUMN judgements.score IS 'The score as given, from 0 to 2; null unless the outcome is ok. For hallucinations and label_justification 0 is best.';
COMMENT ON COLUMN judgements.normalised IS 'The score from 0 (worst) to 1 (best), whichever end of the scale is the good one.';
COMMENT ON COLUMN judgements.reason IS 'Why this score, in the judge''s words; or why there is none.';
COMMENT ON COLUMN judgements.quote IS 'The words of the material that the score rests on; they stand in it.';
COMMENT ON COLUMN judgements.provider IS 'Who serves the judge.';
COMMENT ON COLUMN judgements.model IS 'The judge.';
COMMENT ON COLUMN judgements.prompt_version IS 'Version of the prompt.';
COMMENT ON COLUMN judgements.question_hash IS 'Digest of all that the judge was shown.';
COMMENT ON COLUMN judgements.calls IS 'Requests that the judgement took.';
COMMENT ON COLUMN judgements.cost_usd IS 'What they cost, in US dollars.';
COMMENT ON COLUMN judgements.price_known IS 'Whether the model has a listed price; where it has none, cost_usd is 0 for that.';
COMMENT ON COLUMN judgements.judged_at IS 'When the judgement was reached (UTC).';

CREATE TABLE judge_calls (
    judgement_id VARCHAR NOT NULL,
    judging_id VARCHAR NOT NULL,
    attempt BIGINT NOT NULL CHECK (attempt >= 1),
    provider VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    input_tokens BIGINT NOT NULL CHECK (input_tokens >= 0),
    output_tokens BIGINT NOT NULL CHECK (output_tokens >= 0),
    cost_usd DOUBLE NOT NULL CHECK (cost_usd >= 0 AND isfinite(cost_usd)),
    price_known BOOLEAN NOT NULL,
    latency_seconds DOUBLE NOT NULL CHECK (latency_seconds >= 0 AND isfinite(latency_seconds)),
    cache_hit BOOLEAN NOT NULL,
    outcome VARCHAR NOT NULL CHECK (outcome IN ('ok', 'invalid', 'truncated', 'refused', 'infra_error')),
    reason VARCHAR,
    PRIMARY KEY (judgement_id, judging_id, attempt)
);
COMMENT ON TABLE judge_calls IS 'The calls that judgements took, with the usage that the API reported.';
COMMENT ON COLUMN judge_calls.judgement_id IS 'The judgement.';
COMMENT ON COLUMN judge_calls.judging_id IS 'The run of `factible judge`.';
COMMENT ON COLUMN judge_calls.attempt IS '1 for the first attempt, more for repetitions.';
COMMENT ON COLUMN judge_calls.provider IS 'Who serves the model.';
COMMENT ON COLUMN judge_calls.model IS 'The model.';
COMMENT ON COLUMN judge_calls.input_tokens IS 'Tokens read, as the API reported them.';
COMMENT ON COLUMN judge_calls.output_tokens IS 'Tokens written, as the API reported them.';
COMMENT ON COLUMN judge_calls.cost_usd IS 'What the call cost, in US dollars.';
COMMENT ON COLUMN judge_calls.price_known IS 'Whether the model has a listed price; where it has none, cost_usd is 0 for that.';
COMMENT ON COLUMN judge_calls.latency_seconds IS 'How long the answer took, in seconds.';
COMMENT ON COLUMN judge_calls.cache_hit IS 'Whether the answer came from the cache.';
COMMENT ON COLUMN judge_calls.outcome IS 'ok; invalid: not of the form asked for; truncated; refused; infra_error: the service failed.';
COMMENT ON COLUMN judge_calls.reason IS 'Why the outcome is not ok.';

-- Claims may also be given: by a corpus of stated claims, in which nothing is to be extracted. DuckDB
-- cannot change a rule of a column, so the table is made again around its rows.
ALTER TABLE claims RENAME TO claims_before_0011;
CREATE TABLE claims (
    claim_id VARCHAR NOT NULL,
    video_id VARCHAR NOT NULL,
    rank BIGINT NOT NULL CHECK (rank >= 1),
    text VARCHAR NOT NULL CHECK (length(text) >= 1),
    importance DOUBLE NOT NULL CHECK (importance BETWEEN 0 AND 1),
    extraction_confidence DOUBLE NOT NULL CHECK (extraction_confidence BETWEEN 0 AND 1),
    category VARCHAR,
    context VARCHAR,
    thesis VARCHAR,
    char_start BIGINT CHECK (char_start >= 0),
    char_end BIGINT CHECK (char_end >= 0),
    match_score DOUBLE CHECK (match_score BETWEEN 0 AND 1),
    start_seconds DOUBLE CHECK (start_seconds >= 0 AND isfinite(start_seconds)),
    end_seconds DOUBLE CHECK (end_seconds >= 0 AND isfinite(end_seconds)),
    basis VARCHAR NOT NULL CHECK (basis IN ('embedded', 'llm', 'given')),
    run_id VARCHAR NOT NULL,
    checked_at TIMESTAMP NOT NULL,
    PRIMARY KEY (video_id, run_id, claim_id),
    CHECK ((char_start IS NULL) = (char_end IS NULL)),
    CHECK ((char_start IS NULL) = (match_score IS NULL)),
    CHECK (char_end > char_start),
    CHECK (char_start IS NOT NULL OR start_seconds IS NULL)
);
INSERT INTO claims BY NAME SELECT * FROM claims_before_0011;
DROP TABLE claims_before_0011;
COMMENT ON TABLE claims IS 'The check-worthy factual statements of a video.';
COMMENT ON COLUMN claims.claim_id IS 'Identifier derived from the video and the claim''s wording; the same in every run.';
COMMENT ON COLUMN claims.video_id IS 'The video that makes the claim.';
COMMENT ON COLUMN claims.rank IS 'Order by importance; 1 is the most important claim of the video.';
COMMENT ON COLUMN claims.text IS 'The claim.';
COMMENT ON COLUMN claims.importance IS 'How much the video''s thesis rests on the claim, from 0 to 1.';
COMMENT ON COLUMN claims.extraction_confidence IS 'How sure it is that the video makes this claim, from 0 to 1.';
COMMENT ON COLUMN claims.category IS 'Field that the claim belongs to.';
COMMENT ON COLUMN claims.context IS 'Background needed to read the claim.';
COMMENT ON COLUMN claims.thesis IS 'The video''s thesis, in at most 25 words.';
COMMENT ON COLUMN claims.char_start IS 'Offset of the claim in the transcript''s text, in code points from 0; null if it was not located.';
COMMENT ON COLUMN claims.char_end IS 'Offset behind the claim in the transcript''s text.';
COMMENT ON COLUMN claims.match_score IS 'Similarity of the claim to the transcript between the two offsets, from 0 to 1.';
COMMENT ON COLUMN claims.start_seconds IS 'When the claim begins, in seconds from the start of the video; null if the transcript has no times.';
COMMENT ON COLUMN claims.end_seconds IS 'When the claim ends, in seconds from the start of the video.';
COMMENT ON COLUMN claims.basis IS 'Who extracted it: embedded (the embedded engine), llm (a language model), or given: nobody, the corpus states it.';
COMMENT ON COLUMN claims.run_id IS 'The run that wrote the row.';
COMMENT ON COLUMN claims.checked_at IS 'When that run checked the video (UTC).';
