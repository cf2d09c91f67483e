-- What this party tells of the end of its audit log belongs to an era: a new one begins when a person goes on after the folder was put back to an earlier state.
CREATE TABLE log_era (
    era TEXT NOT NULL PRIMARY KEY,
    is_current BIGINT NOT NULL
);

-- The latest end of its audit log that each peer has told this party.
CREATE TABLE peer_head (
    peer BIGINT NOT NULL PRIMARY KEY,
    era TEXT NOT NULL,
    number BIGINT NOT NULL,
    place BIGINT NOT NULL,
    hash TEXT NOT NULL,
    mark TEXT NOT NULL
);

-- Parties, this one among them, whose audit log lacks what it had told the party `told_by`, and nobody has acknowledged that yet.
CREATE TABLE put_back (
    party BIGINT NOT NULL,
    told_by BIGINT NOT NULL,
    era TEXT NOT NULL,
    number BIGINT NOT NULL,
    PRIMARY KEY (party, told_by, era)
);
