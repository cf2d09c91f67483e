-- What this party publishes to each other party; its own row stands for all of it.
CREATE TABLE catalogue_told (
    party BIGINT NOT NULL PRIMARY KEY,
    version BIGINT NOT NULL,
    digest TEXT NOT NULL,
    known_at BIGINT NOT NULL
);
-- What each other party has published to this one last.
CREATE TABLE catalogue_heard (
    party BIGINT NOT NULL PRIMARY KEY,
    version BIGINT NOT NULL,
    digest TEXT NOT NULL,
    known_at BIGINT NOT NULL,
    body TEXT NOT NULL
);
