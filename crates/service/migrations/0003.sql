-- Outputs that were kept instead of opened, by the job that kept them.
CREATE TABLE kept (
    job TEXT NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    bytes BIGINT NOT NULL CHECK (bytes >= 0),
    kept_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    sealed BYTEA NOT NULL,
    PRIMARY KEY (job, name)
);
CREATE INDEX kept_name ON kept (name, kept_at);
CREATE INDEX kept_time ON kept (kept_at);
CREATE INDEX kept_expiry ON kept (expires_at);
