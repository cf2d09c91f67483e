-- One text for SQLite and PostgreSQL: TEXT, BIGINT (times in milliseconds, counts, 0 and 1) and BYTEA only.

CREATE TABLE audit_head (
    single BIGINT NOT NULL PRIMARY KEY CHECK (single = 1),
    log TEXT NOT NULL,
    number BIGINT NOT NULL,
    hash TEXT NOT NULL,
    length BIGINT NOT NULL,
    synced_number BIGINT NOT NULL,
    synced_hash TEXT NOT NULL,
    synced_length BIGINT NOT NULL
);

-- Lines that may not be on the disk in the file.
CREATE TABLE audit_pending (
    number BIGINT NOT NULL PRIMARY KEY,
    line TEXT NOT NULL
);

CREATE TABLE job (
    number BIGINT NOT NULL PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    proposal TEXT NOT NULL,
    digest TEXT NOT NULL,
    proposer BIGINT NOT NULL,
    idempotency TEXT NOT NULL,
    body TEXT NOT NULL,
    submitter TEXT,
    deadline BIGINT NOT NULL,
    state TEXT NOT NULL,
    open BIGINT NOT NULL CHECK (open IN (0, 1)),
    decisions TEXT NOT NULL,
    binding TEXT NOT NULL,
    ending TEXT,
    created_at BIGINT NOT NULL,
    changed_at BIGINT NOT NULL,
    UNIQUE (proposer, idempotency)
);
CREATE INDEX job_state ON job (state, number);
CREATE INDEX job_open ON job (number) WHERE open = 1;
CREATE INDEX job_open_proposer ON job (proposer) WHERE open = 1;
CREATE INDEX job_open_deadline ON job (deadline) WHERE open = 1;
CREATE INDEX job_ended_deadline ON job (deadline) WHERE open = 0;

-- Disclosures counted for a job whose data this party has not yet used: what is given back if it never is.
CREATE TABLE charge (
    job TEXT NOT NULL,
    program TEXT NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (job, data)
);

CREATE TABLE disclosure (
    program TEXT NOT NULL,
    data TEXT NOT NULL,
    used BIGINT NOT NULL CHECK (used >= 0),
    PRIMARY KEY (program, data)
);

-- What rules of the policy approved, for their rates.
CREATE TABLE ruling (
    job TEXT NOT NULL PRIMARY KEY,
    rule TEXT NOT NULL,
    at BIGINT NOT NULL
);
CREATE INDEX ruling_rate ON ruling (rule, at);

CREATE TABLE result (
    job TEXT NOT NULL PRIMARY KEY,
    sealed BYTEA,
    fetcher TEXT,
    expires_at BIGINT NOT NULL
);
CREATE INDEX result_expiry ON result (expires_at) WHERE sealed IS NOT NULL;

CREATE TABLE token (
    id TEXT NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    hash TEXT NOT NULL,
    scopes TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT,
    used_at BIGINT,
    parent TEXT
);
CREATE INDEX token_parent ON token (parent) WHERE parent IS NOT NULL;
CREATE INDEX token_expiry ON token (expires_at) WHERE expires_at IS NOT NULL;
