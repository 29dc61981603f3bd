-- How the games of matches ended, so that a league's table can leave out those
-- that an error decided.

-- +goose Up

CREATE TABLE game_records (
    league     TEXT    NOT NULL,
    agent_id   TEXT    NOT NULL,
    turn_order INTEGER NOT NULL, -- 1: it had the first move; 2: another had; 0: several began at once, or the game never began
    ended      TEXT    NOT NULL, -- played_out, default_moves, forfeit
    cause      TEXT    NOT NULL, -- why the agent gave no move; '': it gave all
    games      INTEGER NOT NULL, -- of finished matches that count for the table
    wins       INTEGER NOT NULL,
    draws      INTEGER NOT NULL,
    losses     INTEGER NOT NULL,
    points     INTEGER NOT NULL, -- thousandths
    CONSTRAINT game_records_pk PRIMARY KEY (league, agent_id, turn_order, ended, cause)
) STRICT, WITHOUT ROWID;
CREATE INDEX game_records_by_agent ON game_records (agent_id);

-- +goose Down

DROP TABLE game_records;
