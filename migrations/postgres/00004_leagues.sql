-- Seasons with their pairings, verdicts and votes, refits of ratings, the
-- audit log. Scores and points are thousandths.

-- +goose Up

CREATE TABLE seasons (
    id          TEXT COLLATE "C" NOT NULL,
    league      TEXT COLLATE "C" NOT NULL,
    no          BIGINT NOT NULL, -- 1, 2, 3 … within the league
    status      TEXT COLLATE "C" NOT NULL,
    format      TEXT COLLATE "C" NOT NULL,
    options     TEXT COLLATE "C" NOT NULL,
    seed        BIGINT NOT NULL, -- 64 bits, read as unsigned
    version     BIGINT NOT NULL, -- grows with each change
    started_at  BIGINT NOT NULL,
    ends_at     BIGINT NOT NULL,
    finished_at BIGINT NOT NULL,
    final       TEXT COLLATE "C" NOT NULL, -- its table once it is finished, else ''
    CONSTRAINT seasons_pk PRIMARY KEY (id),
    CONSTRAINT seasons_no UNIQUE (league, no),
    CONSTRAINT seasons_league FOREIGN KEY (league) REFERENCES leagues (slug),
    CONSTRAINT seasons_status CHECK (status IN ('running', 'finished'))
);
CREATE UNIQUE INDEX seasons_running ON seasons (league) WHERE status = 'running';

CREATE TABLE entrants (
    season_id       TEXT COLLATE "C" NOT NULL,
    agent_id        TEXT COLLATE "C" NOT NULL,
    owner_id        TEXT COLLATE "C" NOT NULL,
    name            TEXT COLLATE "C" NOT NULL,
    rating          BIGINT NOT NULL, -- when it joined
    round           BIGINT NOT NULL, -- the first in which it plays
    withdrawn_round BIGINT NOT NULL, -- the first in which it plays no more
    CONSTRAINT entrants_pk PRIMARY KEY (season_id, agent_id),
    CONSTRAINT entrants_season FOREIGN KEY (season_id) REFERENCES seasons (id),
    CONSTRAINT entrants_agent FOREIGN KEY (agent_id) REFERENCES agents (id)
);

CREATE TABLE pairings (
    season_id  TEXT COLLATE "C" NOT NULL,
    round      BIGINT NOT NULL, -- 1-based, like slot and game
    slot       BIGINT NOT NULL,
    game       BIGINT NOT NULL,
    bracket    TEXT COLLATE "C" NOT NULL,
    agents     TEXT COLLATE "C" NOT NULL, -- [id]
    result     TEXT COLLATE "C" NOT NULL, -- '' while it is open
    scores     TEXT COLLATE "C" NOT NULL, -- one per agent, '' none
    match_id   TEXT COLLATE "C",             -- chosen before the match is made
    created_at BIGINT NOT NULL,
    decided_at BIGINT NOT NULL,
    CONSTRAINT pairings_pk PRIMARY KEY (season_id, round, slot, game),
    CONSTRAINT pairings_match UNIQUE (match_id),
    CONSTRAINT pairings_season FOREIGN KEY (season_id) REFERENCES seasons (id)
);

CREATE TABLE verdicts (
    match_id TEXT COLLATE "C" NOT NULL,
    round    BIGINT NOT NULL,
    no       BIGINT NOT NULL, -- 1: as the round was closed; more: scored again
    judge    TEXT COLLATE "C" NOT NULL,
    version  TEXT COLLATE "C" NOT NULL,
    seats    TEXT COLLATE "C" NOT NULL, -- [{agent_id, points}]
    ballots  TEXT COLLATE "C" NOT NULL, -- of judges that are asked, else ''
    at       BIGINT NOT NULL,
    CONSTRAINT verdicts_pk PRIMARY KEY (match_id, round, no),
    CONSTRAINT verdicts_round FOREIGN KEY (match_id, round) REFERENCES rounds (match_id, no)
);

CREATE TABLE votes (
    match_id TEXT COLLATE "C" NOT NULL,
    round    BIGINT NOT NULL,
    voter    BYTEA NOT NULL, -- SHA-256 of the browser's signed name
    address  BYTEA NOT NULL, -- SHA-256 of address and match
    choice   TEXT COLLATE "C" NOT NULL, -- agent id; '' a tie
    other    TEXT COLLATE "C" NOT NULL, -- the answer that it was compared with
    at       BIGINT NOT NULL,
    CONSTRAINT votes_pk PRIMARY KEY (match_id, round, voter),
    CONSTRAINT votes_round FOREIGN KEY (match_id, round) REFERENCES rounds (match_id, no)
);
CREATE INDEX votes_by_address ON votes (match_id, round, address);

CREATE TABLE fits (
    league     TEXT COLLATE "C" NOT NULL,
    settlement BIGINT NOT NULL, -- the last one that is in it
    at         BIGINT NOT NULL,
    lines      TEXT COLLATE "C" NOT NULL, -- one for each rated agent
    CONSTRAINT fits_pk PRIMARY KEY (league),
    CONSTRAINT fits_league FOREIGN KEY (league) REFERENCES leagues (slug)
);

CREATE TABLE audit (
    id     TEXT COLLATE "C" NOT NULL,
    at     BIGINT NOT NULL,
    actor  TEXT COLLATE "C" NOT NULL, -- owner id, 'admin', or 'arena'
    token  TEXT COLLATE "C" NOT NULL, -- id of the token, '' none
    action TEXT COLLATE "C" NOT NULL,
    target TEXT COLLATE "C" NOT NULL,
    before TEXT COLLATE "C" NOT NULL, -- JSON, '' nothing
    after  TEXT COLLATE "C" NOT NULL,
    CONSTRAINT audit_pk PRIMARY KEY (id)
);

-- Which task of which pack a round put: agents do not get it again soon.
ALTER TABLE rounds ADD COLUMN source TEXT COLLATE "C" NOT NULL DEFAULT '';

-- The newest answers of an agent come from the index alone. SQLite's has the
-- columns of the key at its end by itself.
DROP INDEX answers_by_agent;
CREATE INDEX answers_by_agent ON answers (agent_id, outcome, match_id, round);

-- +goose Down

DROP INDEX answers_by_agent;
CREATE INDEX answers_by_agent ON answers (agent_id, outcome);
ALTER TABLE rounds DROP COLUMN source;
DROP TABLE audit;
DROP TABLE fits;
DROP TABLE votes;
DROP TABLE verdicts;
DROP TABLE pairings;
DROP TABLE entrants;
DROP TABLE seasons;
