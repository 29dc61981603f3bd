-- Seasons with their pairings, verdicts and votes, refits of ratings, the
-- audit log. Scores and points are thousandths.

-- +goose Up

CREATE TABLE seasons (
    id          TEXT    NOT NULL,
    league      TEXT    NOT NULL,
    no          INTEGER NOT NULL, -- 1, 2, 3 … within the league
    status      TEXT    NOT NULL,
    format      TEXT    NOT NULL,
    options     TEXT    NOT NULL,
    seed        INTEGER NOT NULL, -- 64 bits, read as unsigned
    version     INTEGER NOT NULL, -- grows with each change
    started_at  INTEGER NOT NULL,
    ends_at     INTEGER NOT NULL,
    finished_at INTEGER NOT NULL,
    final       TEXT    NOT NULL, -- its table once it is finished, else ''
    CONSTRAINT seasons_pk PRIMARY KEY (id),
    CONSTRAINT seasons_no UNIQUE (league, no),
    CONSTRAINT seasons_league FOREIGN KEY (league) REFERENCES leagues (slug),
    CONSTRAINT seasons_status CHECK (status IN ('running', 'finished'))
) STRICT;
CREATE UNIQUE INDEX seasons_running ON seasons (league) WHERE status = 'running';

CREATE TABLE entrants (
    season_id       TEXT    NOT NULL,
    agent_id        TEXT    NOT NULL,
    owner_id        TEXT    NOT NULL,
    name            TEXT    NOT NULL,
    rating          INTEGER NOT NULL, -- when it joined
    round           INTEGER NOT NULL, -- the first in which it plays
    withdrawn_round INTEGER NOT NULL, -- the first in which it plays no more
    CONSTRAINT entrants_pk PRIMARY KEY (season_id, agent_id),
    CONSTRAINT entrants_season FOREIGN KEY (season_id) REFERENCES seasons (id),
    CONSTRAINT entrants_agent FOREIGN KEY (agent_id) REFERENCES agents (id)
) STRICT, WITHOUT ROWID;

CREATE TABLE pairings (
    season_id  TEXT    NOT NULL,
    round      INTEGER NOT NULL, -- 1-based, like slot and game
    slot       INTEGER NOT NULL,
    game       INTEGER NOT NULL,
    bracket    TEXT    NOT NULL,
    agents     TEXT    NOT NULL, -- [id]
    result     TEXT    NOT NULL, -- '' while it is open
    scores     TEXT    NOT NULL, -- one per agent, '' none
    match_id   TEXT,             -- chosen before the match is made
    created_at INTEGER NOT NULL,
    decided_at INTEGER NOT NULL,
    CONSTRAINT pairings_pk PRIMARY KEY (season_id, round, slot, game),
    CONSTRAINT pairings_match UNIQUE (match_id),
    CONSTRAINT pairings_season FOREIGN KEY (season_id) REFERENCES seasons (id)
) STRICT, WITHOUT ROWID;

CREATE TABLE verdicts (
    match_id TEXT    NOT NULL,
    round    INTEGER NOT NULL,
    no       INTEGER NOT NULL, -- 1: as the round was closed; more: scored again
    judge    TEXT    NOT NULL,
    version  TEXT    NOT NULL,
    seats    TEXT    NOT NULL, -- [{agent_id, points}]
    ballots  TEXT    NOT NULL, -- of judges that are asked, else ''
    at       INTEGER NOT NULL,
    CONSTRAINT verdicts_pk PRIMARY KEY (match_id, round, no),
    CONSTRAINT verdicts_round FOREIGN KEY (match_id, round) REFERENCES rounds (match_id, no)
) STRICT, WITHOUT ROWID;

CREATE TABLE votes (
    match_id TEXT    NOT NULL,
    round    INTEGER NOT NULL,
    voter    BLOB    NOT NULL, -- SHA-256 of the browser's signed name
    address  BLOB    NOT NULL, -- SHA-256 of address and match
    choice   TEXT    NOT NULL, -- agent id; '' a tie
    other    TEXT    NOT NULL, -- the answer that it was compared with
    at       INTEGER NOT NULL,
    CONSTRAINT votes_pk PRIMARY KEY (match_id, round, voter),
    CONSTRAINT votes_round FOREIGN KEY (match_id, round) REFERENCES rounds (match_id, no)
) STRICT, WITHOUT ROWID;
CREATE INDEX votes_by_address ON votes (match_id, round, address);

CREATE TABLE fits (
    league     TEXT    NOT NULL,
    settlement INTEGER NOT NULL, -- the last one that is in it
    at         INTEGER NOT NULL,
    lines      TEXT    NOT NULL, -- one for each rated agent
    CONSTRAINT fits_pk PRIMARY KEY (league),
    CONSTRAINT fits_league FOREIGN KEY (league) REFERENCES leagues (slug)
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
    id     TEXT    NOT NULL,
    at     INTEGER NOT NULL,
    actor  TEXT    NOT NULL, -- owner id, 'admin', or 'arena'
    token  TEXT    NOT NULL, -- id of the token, '' none
    action TEXT    NOT NULL,
    target TEXT    NOT NULL,
    before TEXT    NOT NULL, -- JSON, '' nothing
    after  TEXT    NOT NULL,
    CONSTRAINT audit_pk PRIMARY KEY (id)
) STRICT, WITHOUT ROWID;

-- Which task of which pack a round put: agents do not get it again soon.
ALTER TABLE rounds ADD COLUMN source TEXT NOT NULL DEFAULT '';

-- +goose Down

ALTER TABLE rounds DROP COLUMN source;
DROP TABLE audit;
DROP TABLE fits;
DROP TABLE votes;
DROP TABLE verdicts;
DROP TABLE pairings;
DROP TABLE entrants;
DROP TABLE seasons;
