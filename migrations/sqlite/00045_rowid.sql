-- Rows that hold texts move to tables with a rowid. Without one SQLite keeps rows
-- in an index, which stores what exceeds a quarter of a page in pages of its own:
-- every move of a game, and every answer of some length, took one more page each
-- time it was written, and every search through its neighbors read theirs too.

-- +goose Up

-- Other tables refer to rounds, and would follow it to another name: a copy takes
-- its place for as long as there is none.
PRAGMA defer_foreign_keys = ON;
CREATE TABLE rounds_44 AS SELECT * FROM rounds;
DROP TABLE rounds;
CREATE TABLE rounds (
    match_id      TEXT    NOT NULL,
    no            INTEGER NOT NULL, -- 1-based
    task          TEXT    NOT NULL,
    opened_at     INTEGER NOT NULL,
    closed_at     INTEGER NOT NULL,
    interruptions INTEGER NOT NULL,
    opened_seq    INTEGER NOT NULL,            -- last number of the log before it
    source        TEXT    NOT NULL DEFAULT '',
    turn          TEXT    NOT NULL DEFAULT '',
    vote_until    INTEGER NOT NULL DEFAULT 0,
    CONSTRAINT rounds_pk PRIMARY KEY (match_id, no),
    CONSTRAINT rounds_match FOREIGN KEY (match_id) REFERENCES matches (id)
) STRICT;
INSERT INTO rounds (match_id, no, task, opened_at, closed_at, interruptions, opened_seq, source, turn, vote_until)
    SELECT match_id, no, task, opened_at, closed_at, interruptions, opened_seq, source, turn, vote_until FROM rounds_44;
DROP TABLE rounds_44;

CREATE TABLE answers_45 (
    match_id    TEXT    NOT NULL,
    round       INTEGER NOT NULL,
    agent_id    TEXT    NOT NULL,
    outcome     TEXT    NOT NULL,
    reason      TEXT    NOT NULL,
    body        TEXT,             -- null unless answered
    elapsed_ns  INTEGER NOT NULL,
    attempts    INTEGER NOT NULL,
    points      INTEGER NOT NULL,
    judged      INTEGER NOT NULL,
    arrived_at  INTEGER NOT NULL DEFAULT 0,
    over_tokens INTEGER NOT NULL DEFAULT 0,
    CONSTRAINT answers_pk PRIMARY KEY (match_id, round, agent_id),
    CONSTRAINT answers_round FOREIGN KEY (match_id, round) REFERENCES rounds (match_id, no)
) STRICT;
INSERT INTO answers_45 (match_id, round, agent_id, outcome, reason, body, elapsed_ns, attempts, points, judged, arrived_at, over_tokens)
    SELECT match_id, round, agent_id, outcome, reason, body, elapsed_ns, attempts, points, judged, arrived_at, over_tokens FROM answers;
DROP TABLE answers;
ALTER TABLE answers_45 RENAME TO answers;
CREATE INDEX answers_dodged ON answers (agent_id) WHERE outcome IN ('unavailable', 'rate_limited') AND attempts > 0;

CREATE TABLE events_45 (
    match_id TEXT    NOT NULL,
    seq      INTEGER NOT NULL, -- 1, 2, 3 … without gaps
    round    INTEGER NOT NULL,
    agent_id TEXT    NOT NULL, -- '': the match itself
    at       INTEGER NOT NULL,
    type     TEXT    NOT NULL,
    body     TEXT    NOT NULL, -- what anyone may read
    hidden   TEXT    NOT NULL, -- what nobody may read before the round closes; '' nothing
    CONSTRAINT events_pk PRIMARY KEY (match_id, seq),
    CONSTRAINT events_match FOREIGN KEY (match_id) REFERENCES matches (id)
) STRICT;
INSERT INTO events_45 (match_id, seq, round, agent_id, at, type, body, hidden)
    SELECT match_id, seq, round, agent_id, at, type, body, hidden FROM events;
DROP TABLE events;
ALTER TABLE events_45 RENAME TO events;

-- +goose Down

CREATE TABLE events_45 (
    match_id TEXT    NOT NULL,
    seq      INTEGER NOT NULL,
    round    INTEGER NOT NULL,
    agent_id TEXT    NOT NULL,
    at       INTEGER NOT NULL,
    type     TEXT    NOT NULL,
    body     TEXT    NOT NULL,
    hidden   TEXT    NOT NULL,
    CONSTRAINT events_pk PRIMARY KEY (match_id, seq),
    CONSTRAINT events_match FOREIGN KEY (match_id) REFERENCES matches (id)
) STRICT, WITHOUT ROWID;
INSERT INTO events_45 (match_id, seq, round, agent_id, at, type, body, hidden)
    SELECT match_id, seq, round, agent_id, at, type, body, hidden FROM events;
DROP TABLE events;
ALTER TABLE events_45 RENAME TO events;

CREATE TABLE answers_45 (
    match_id    TEXT    NOT NULL,
    round       INTEGER NOT NULL,
    agent_id    TEXT    NOT NULL,
    outcome     TEXT    NOT NULL,
    reason      TEXT    NOT NULL,
    body        TEXT,
    elapsed_ns  INTEGER NOT NULL,
    attempts    INTEGER NOT NULL,
    points      INTEGER NOT NULL,
    judged      INTEGER NOT NULL,
    arrived_at  INTEGER NOT NULL DEFAULT 0,
    over_tokens INTEGER NOT NULL DEFAULT 0,
    CONSTRAINT answers_pk PRIMARY KEY (match_id, round, agent_id),
    CONSTRAINT answers_round FOREIGN KEY (match_id, round) REFERENCES rounds (match_id, no)
) STRICT, WITHOUT ROWID;
INSERT INTO answers_45 (match_id, round, agent_id, outcome, reason, body, elapsed_ns, attempts, points, judged, arrived_at, over_tokens)
    SELECT match_id, round, agent_id, outcome, reason, body, elapsed_ns, attempts, points, judged, arrived_at, over_tokens FROM answers;
DROP TABLE answers;
ALTER TABLE answers_45 RENAME TO answers;
CREATE INDEX answers_dodged ON answers (agent_id) WHERE outcome IN ('unavailable', 'rate_limited') AND attempts > 0;

PRAGMA defer_foreign_keys = ON;
CREATE TABLE rounds_45 AS SELECT * FROM rounds;
DROP TABLE rounds;
CREATE TABLE rounds (
    match_id      TEXT    NOT NULL,
    no            INTEGER NOT NULL,
    task          TEXT    NOT NULL,
    opened_at     INTEGER NOT NULL,
    closed_at     INTEGER NOT NULL,
    interruptions INTEGER NOT NULL,
    opened_seq    INTEGER NOT NULL,
    source        TEXT    NOT NULL DEFAULT '',
    turn          TEXT    NOT NULL DEFAULT '',
    vote_until    INTEGER NOT NULL DEFAULT 0,
    CONSTRAINT rounds_pk PRIMARY KEY (match_id, no),
    CONSTRAINT rounds_match FOREIGN KEY (match_id) REFERENCES matches (id)
) STRICT, WITHOUT ROWID;
INSERT INTO rounds (match_id, no, task, opened_at, closed_at, interruptions, opened_seq, source, turn, vote_until)
    SELECT match_id, no, task, opened_at, closed_at, interruptions, opened_seq, source, turn, vote_until FROM rounds_45;
DROP TABLE rounds_45;
