-- Sessions that have begun with a peer and have not ended in agreement. What began and what ended when is told by numbers that grow, by no clock: no end
-- as long as it runs. A grave one is enough for a person to be asked.
CREATE TABLE unsettled (
    session TEXT NOT NULL,
    peer BIGINT NOT NULL,
    began BIGINT NOT NULL,
    ended BIGINT,
    grave BIGINT NOT NULL,
    PRIMARY KEY (session, peer)
);
