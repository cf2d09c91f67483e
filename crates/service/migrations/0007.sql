-- Under which key results and kept values are sealed: a digest that tells nothing of it.
CREATE TABLE result_key (
    single BIGINT NOT NULL PRIMARY KEY CHECK (single = 1),
    name TEXT NOT NULL
);
