-- Whether this party's data may have been used for it. Of a proposer's jobs that ended without, few are taken in an hour and kept. What ended
-- before this column was there counts as having run.
ALTER TABLE job ADD COLUMN ran BIGINT NOT NULL DEFAULT 1;
UPDATE job SET ran = 0 WHERE open = 1 AND state <> 'running';
CREATE INDEX job_unrun ON job (proposer, changed_at) WHERE open = 0 AND ran = 0;
