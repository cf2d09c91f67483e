-- Sessions that have begun with a peer and have not ended in agreement. What began and what ended when is told by numbers that grow, by no clock: no end
-- as long as it runs. A grave one is enough for a person to be asked. Each counts for jobs of at least `fewest` parties. A bound that was passed has the bits that it
-- left; one that a person has settled has no end.
CREATE TABLE unsettled (
    peer BIGINT NOT NULL,
    began BIGINT NOT NULL,
    ended BIGINT,
    session TEXT NOT NULL,
    fewest BIGINT NOT NULL,
    grave BIGINT NOT NULL,
    bits BIGINT,
    PRIMARY KEY (peer, began)
);
CREATE INDEX unsettled_session ON unsettled (session);
CREATE INDEX unsettled_ended ON unsettled (peer, ended);
CREATE INDEX unsettled_grave ON unsettled (peer) WHERE grave = 1;

-- The last number that was given.
CREATE TABLE unsettled_last (
    single BIGINT NOT NULL PRIMARY KEY CHECK (single = 1),
    number BIGINT NOT NULL
);
INSERT INTO unsettled_last (single, number) VALUES (1, 0);
