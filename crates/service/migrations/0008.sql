-- Of jobs that stand: calls that may have been answered by now, of those that the job allows.
CREATE TABLE standing (
    job TEXT NOT NULL PRIMARY KEY,
    reserved BIGINT NOT NULL CHECK (reserved >= 0)
);

-- Calls that this party has made, or of which it has learnt outputs. One that has begun and not ended is `begun`.
CREATE TABLE call (
    job TEXT NOT NULL,
    id TEXT NOT NULL,
    body TEXT,
    submitter TEXT,
    state TEXT NOT NULL,
    reason TEXT,
    sealed BYTEA,
    at BIGINT NOT NULL,
    PRIMARY KEY (job, id)
);
CREATE INDEX call_time ON call (at);
CREATE INDEX call_begun ON call (job) WHERE state = 'begun';

-- How many disclosures a job is charged that it has not used.
ALTER TABLE charge ADD COLUMN amount BIGINT NOT NULL DEFAULT 1;
