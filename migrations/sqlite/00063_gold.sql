-- +goose Up

-- The newest verdict of a league's judge on each gold item that it was asked about.
CREATE TABLE gold (
    league  TEXT NOT NULL,
    pack_id TEXT NOT NULL,
    task    INTEGER NOT NULL,
    version TEXT NOT NULL,    -- of the judge; '': it gave no verdict
    agreed  INTEGER NOT NULL, -- 1: it chose the better answer
    at      INTEGER NOT NULL,
    CONSTRAINT gold_pk PRIMARY KEY (league, pack_id, task),
    CONSTRAINT gold_league FOREIGN KEY (league) REFERENCES leagues (slug),
    CONSTRAINT gold_task FOREIGN KEY (pack_id, task) REFERENCES tasks (pack_id, n)
) STRICT, WITHOUT ROWID;

-- +goose Down

DROP TABLE gold;
