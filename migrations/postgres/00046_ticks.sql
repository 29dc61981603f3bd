-- A tick of a job is claimed for an interval by the clock of the database: one row
-- of a job holds the last claim. Rows by the wall clocks of the nodes, one of each
-- tick, stopped a job for as long as one of the clocks had been ahead.

-- +goose Up

DROP TABLE ticks;
CREATE TABLE ticks (
    job  TEXT COLLATE "C" NOT NULL,
    tick BIGINT NOT NULL, -- when its last interval began, by the database's clock
    CONSTRAINT ticks_pk PRIMARY KEY (job)
);

-- +goose Down

DROP TABLE ticks;
CREATE TABLE ticks (
    job  TEXT COLLATE "C" NOT NULL,
    tick BIGINT NOT NULL,
    CONSTRAINT ticks_pk PRIMARY KEY (job, tick)
);
