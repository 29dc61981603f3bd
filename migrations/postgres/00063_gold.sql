-- +goose Up

-- The newest verdict of a league's judge on each gold item that it was asked about.
CREATE TABLE gold (
    league  TEXT COLLATE "C" NOT NULL,
    pack_id TEXT COLLATE "C" NOT NULL,
    task    BIGINT NOT NULL,
    version TEXT COLLATE "C" NOT NULL,    -- of the judge; '': it gave no verdict
    agreed  BIGINT NOT NULL, -- 1: it chose the better answer
    at      BIGINT NOT NULL,
    CONSTRAINT gold_pk PRIMARY KEY (league, pack_id, task),
    CONSTRAINT gold_league FOREIGN KEY (league) REFERENCES leagues (slug),
    CONSTRAINT gold_task FOREIGN KEY (pack_id, task) REFERENCES tasks (pack_id, n)
);

-- +goose Down

DROP TABLE gold;
