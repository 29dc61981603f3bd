-- How the games of matches ended, so that a league's table can leave out those
-- that an error decided.

-- +goose Up

CREATE TABLE game_records (
    league     TEXT COLLATE "C" NOT NULL,
    agent_id   TEXT COLLATE "C" NOT NULL,
    turn_order BIGINT NOT NULL, -- 1: it had the first move; 2: another had; 0: several began at once, or the game never began
    ended      TEXT COLLATE "C" NOT NULL, -- played_out, default_moves, forfeit
    cause      TEXT COLLATE "C" NOT NULL, -- why the agent gave no move; '': it gave all
    games      BIGINT NOT NULL, -- of finished matches that count for the table
    wins       BIGINT NOT NULL,
    draws      BIGINT NOT NULL,
    losses     BIGINT NOT NULL,
    points     BIGINT NOT NULL, -- thousandths
    CONSTRAINT game_records_pk PRIMARY KEY (league, agent_id, turn_order, ended, cause)
);
CREATE INDEX game_records_by_agent ON game_records (agent_id);

-- +goose Down

DROP TABLE game_records;
