-- Times are unix milliseconds and 0 is "not set"; columns ending in _ns are
-- nanoseconds; ratings are thousandths of an Elo point; points are
-- thousandths of a point; yes/no columns are 1/0; lists and settings are JSON.

-- +goose Up

CREATE TABLE owners (
    id         TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    email      TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    CONSTRAINT owners_pk PRIMARY KEY (id)
) STRICT;

CREATE TABLE tokens (
    id           TEXT    NOT NULL,
    owner_id     TEXT,             -- null: an admin token
    scope        TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    hash         BLOB    NOT NULL, -- SHA-256 of the secret
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    revoked_at   INTEGER NOT NULL,
    CONSTRAINT tokens_pk PRIMARY KEY (id),
    CONSTRAINT tokens_hash UNIQUE (hash),
    CONSTRAINT tokens_owner FOREIGN KEY (owner_id) REFERENCES owners (id),
    CONSTRAINT tokens_scope CHECK (scope IN ('owner', 'admin'))
) STRICT;
CREATE INDEX tokens_by_owner ON tokens (owner_id, id);

CREATE TABLE signing_keys (
    kid        TEXT    NOT NULL,
    alg        TEXT    NOT NULL,
    private    BLOB    NOT NULL, -- PKCS #8
    created_at INTEGER NOT NULL,
    signs_from INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    CONSTRAINT signing_keys_pk PRIMARY KEY (kid)
) STRICT;

CREATE TABLE agents (
    id                  TEXT    NOT NULL,
    owner_id            TEXT    NOT NULL,
    name                TEXT    NOT NULL,
    name_key            TEXT    NOT NULL, -- case-folded
    protocol            TEXT    NOT NULL,
    endpoint            TEXT    NOT NULL,
    public_key          TEXT    NOT NULL,
    version             TEXT    NOT NULL,
    description         TEXT    NOT NULL,
    pauses              TEXT    NOT NULL, -- [{reason, since, until}]
    paused_until        INTEGER NOT NULL, -- latest end of all pauses; largest value: no end
    created_at          INTEGER NOT NULL,
    passed_at           INTEGER NOT NULL,
    retired_at          INTEGER NOT NULL,
    health_ok           INTEGER NOT NULL,
    checked_at          INTEGER NOT NULL,
    latency_ns          INTEGER NOT NULL,
    health_reason       TEXT    NOT NULL,
    health_detail       TEXT    NOT NULL,
    capabilities        TEXT    NOT NULL, -- [slug]
    declared_latency_ns INTEGER NOT NULL,
    max_concurrent      INTEGER NOT NULL,
    failures            INTEGER NOT NULL,
    successes           INTEGER NOT NULL,
    CONSTRAINT agents_pk PRIMARY KEY (id),
    CONSTRAINT agents_owner FOREIGN KEY (owner_id) REFERENCES owners (id),
    CONSTRAINT agents_max_concurrent CHECK (max_concurrent >= 1)
) STRICT;
CREATE UNIQUE INDEX agents_owner_name ON agents (owner_id, name_key) WHERE retired_at = 0;
CREATE INDEX agents_by_owner ON agents (owner_id, id);

CREATE TABLE uptime (
    agent_id TEXT    NOT NULL,
    day      TEXT    NOT NULL, -- 2026-11-21, UTC
    ok       INTEGER NOT NULL,
    failed   INTEGER NOT NULL,
    CONSTRAINT uptime_pk PRIMARY KEY (agent_id, day),
    CONSTRAINT uptime_agent FOREIGN KEY (agent_id) REFERENCES agents (id)
) STRICT, WITHOUT ROWID;

CREATE TABLE packs (
    id         TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    format     TEXT    NOT NULL,
    tasks      INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    CONSTRAINT packs_pk PRIMARY KEY (id)
) STRICT;

CREATE TABLE tasks (
    pack_id TEXT    NOT NULL,
    n       INTEGER NOT NULL, -- 0-based
    body    TEXT    NOT NULL,
    CONSTRAINT tasks_pk PRIMARY KEY (pack_id, n),
    CONSTRAINT tasks_pack FOREIGN KEY (pack_id) REFERENCES packs (id)
) STRICT, WITHOUT ROWID;

CREATE TABLE leagues (
    slug        TEXT    NOT NULL,
    title       TEXT    NOT NULL,
    status      TEXT    NOT NULL,
    settings    TEXT    NOT NULL,
    entry       TEXT    NOT NULL,
    schedule    TEXT    NOT NULL,
    drift       INTEGER NOT NULL, -- sum of ratings - rated agents * 1500000
    created_at  INTEGER NOT NULL,
    next_run_at INTEGER NOT NULL,
    note        TEXT    NOT NULL,
    CONSTRAINT leagues_pk PRIMARY KEY (slug),
    CONSTRAINT leagues_status CHECK (status IN ('draft', 'open', 'running', 'paused', 'frozen', 'finished'))
) STRICT;

CREATE TABLE entries (
    league       TEXT    NOT NULL,
    agent_id     TEXT    NOT NULL,
    entered_at   INTEGER NOT NULL,
    withdrawn_at INTEGER NOT NULL,
    CONSTRAINT entries_pk PRIMARY KEY (league, agent_id),
    CONSTRAINT entries_league FOREIGN KEY (league) REFERENCES leagues (slug),
    CONSTRAINT entries_agent FOREIGN KEY (agent_id) REFERENCES agents (id)
) STRICT, WITHOUT ROWID;
CREATE INDEX entries_by_agent ON entries (agent_id, entered_at, league) WHERE withdrawn_at = 0;

CREATE TABLE matches (
    id          TEXT    NOT NULL,
    league      TEXT    NOT NULL,
    status      TEXT    NOT NULL,
    settings    TEXT    NOT NULL,
    seed        INTEGER NOT NULL, -- 64 bits, read as unsigned
    round       INTEGER NOT NULL,
    round_open  INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    starts_at   INTEGER NOT NULL,
    started_at  INTEGER NOT NULL,
    finished_at INTEGER NOT NULL,
    void_reason TEXT    NOT NULL,
    seq         INTEGER NOT NULL, -- last number of its log
    node        TEXT    NOT NULL, -- who holds the lease
    epoch       INTEGER NOT NULL, -- grows with each claim
    lease_until INTEGER NOT NULL, -- by the database's clock
    CONSTRAINT matches_pk PRIMARY KEY (id),
    CONSTRAINT matches_league FOREIGN KEY (league) REFERENCES leagues (slug),
    CONSTRAINT matches_status CHECK (status IN ('scheduled', 'ready', 'running', 'finished', 'void', 'cancelled'))
) STRICT;
CREATE INDEX matches_by_league ON matches (league, id);
CREATE INDEX matches_by_league_status ON matches (league, status, id);
CREATE INDEX matches_by_league_start ON matches (league, starts_at);
CREATE INDEX matches_by_status ON matches (status, id);
CREATE INDEX matches_by_start ON matches (status, starts_at, id);

CREATE TABLE seats (
    match_id      TEXT    NOT NULL,
    no            INTEGER NOT NULL, -- 0-based
    agent_id      TEXT    NOT NULL,
    pinned        INTEGER NOT NULL, -- 1: the next six are the seat's own, else the agent's
    name          TEXT    NOT NULL,
    owner_id      TEXT    NOT NULL,
    protocol      TEXT    NOT NULL,
    endpoint      TEXT    NOT NULL,
    public_key    TEXT    NOT NULL,
    version       TEXT    NOT NULL,
    state         TEXT    NOT NULL,
    playing       INTEGER NOT NULL, -- 1: active, and the match is running
    out_round     INTEGER NOT NULL,
    points        INTEGER NOT NULL,
    place         INTEGER NOT NULL,
    outcome       TEXT    NOT NULL,
    rate_limits   INTEGER NOT NULL,
    rating_before INTEGER NOT NULL,
    rating_delta  INTEGER,          -- null: not rated
    CONSTRAINT seats_pk PRIMARY KEY (match_id, no),
    CONSTRAINT seats_once UNIQUE (match_id, agent_id),
    CONSTRAINT seats_match FOREIGN KEY (match_id) REFERENCES matches (id),
    CONSTRAINT seats_agent FOREIGN KEY (agent_id) REFERENCES agents (id),
    CONSTRAINT seats_state CHECK (state IN ('active', 'out', 'left'))
) STRICT, WITHOUT ROWID;
CREATE INDEX seats_by_agent ON seats (agent_id, match_id);
CREATE INDEX seats_playing ON seats (agent_id) WHERE playing = 1;

CREATE TABLE rounds (
    match_id      TEXT    NOT NULL,
    no            INTEGER NOT NULL, -- 1-based
    task          TEXT    NOT NULL,
    opened_at     INTEGER NOT NULL,
    closed_at     INTEGER NOT NULL,
    interruptions INTEGER NOT NULL,
    opened_seq    INTEGER NOT NULL, -- last number of the log before it
    CONSTRAINT rounds_pk PRIMARY KEY (match_id, no),
    CONSTRAINT rounds_match FOREIGN KEY (match_id) REFERENCES matches (id)
) STRICT, WITHOUT ROWID;

CREATE TABLE answers (
    match_id   TEXT    NOT NULL,
    round      INTEGER NOT NULL,
    agent_id   TEXT    NOT NULL,
    outcome    TEXT    NOT NULL,
    reason     TEXT    NOT NULL,
    body       TEXT,             -- null unless answered
    elapsed_ns INTEGER NOT NULL,
    attempts   INTEGER NOT NULL,
    points     INTEGER NOT NULL,
    judged     INTEGER NOT NULL,
    CONSTRAINT answers_pk PRIMARY KEY (match_id, round, agent_id),
    CONSTRAINT answers_round FOREIGN KEY (match_id, round) REFERENCES rounds (match_id, no)
) STRICT, WITHOUT ROWID;
CREATE INDEX answers_by_agent ON answers (agent_id, outcome);

CREATE TABLE deliveries (
    id         TEXT    NOT NULL,
    match_id   TEXT    NOT NULL,
    league     TEXT    NOT NULL,
    agent_id   TEXT    NOT NULL,
    round      INTEGER NOT NULL,
    task_id    TEXT    NOT NULL,
    attempt    INTEGER NOT NULL,
    status     INTEGER NOT NULL,
    outcome    TEXT    NOT NULL,
    reason     TEXT    NOT NULL,
    detail     TEXT    NOT NULL,
    sent_at    INTEGER NOT NULL,
    elapsed_ns INTEGER NOT NULL,
    request    BLOB,
    response   BLOB,
    CONSTRAINT deliveries_pk PRIMARY KEY (id),
    CONSTRAINT deliveries_match FOREIGN KEY (match_id) REFERENCES matches (id)
) STRICT;
CREATE INDEX deliveries_by_agent ON deliveries (agent_id, id);

CREATE TABLE events (
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
) STRICT, WITHOUT ROWID;

CREATE TABLE ratings (
    league        TEXT    NOT NULL,
    agent_id      TEXT    NOT NULL,
    melo          INTEGER NOT NULL,
    matches       INTEGER NOT NULL,
    peak          INTEGER NOT NULL,
    new_version   INTEGER NOT NULL,
    wins          INTEGER NOT NULL,
    draws         INTEGER NOT NULL,
    losses        INTEGER NOT NULL,
    opponents     INTEGER NOT NULL, -- how many rows of met name it
    recent        TEXT    NOT NULL, -- its last 20 ratings, oldest first
    last_rated_at INTEGER NOT NULL,
    CONSTRAINT ratings_pk PRIMARY KEY (league, agent_id),
    CONSTRAINT ratings_league FOREIGN KEY (league) REFERENCES leagues (slug),
    CONSTRAINT ratings_agent FOREIGN KEY (agent_id) REFERENCES agents (id)
) STRICT, WITHOUT ROWID;
CREATE INDEX ratings_by_agent ON ratings (agent_id);

CREATE TABLE met (
    league TEXT NOT NULL,
    a      TEXT NOT NULL, -- a < b
    b      TEXT NOT NULL,
    CONSTRAINT met_pk PRIMARY KEY (league, a, b),
    CONSTRAINT met_order CHECK (a < b)
) STRICT, WITHOUT ROWID;

CREATE TABLE settlements (
    seq      INTEGER NOT NULL, -- 1, 2, 3 … without gaps, in commit order
    match_id TEXT    NOT NULL,
    league   TEXT    NOT NULL,
    at       INTEGER NOT NULL,
    drift    INTEGER NOT NULL,
    CONSTRAINT settlements_pk PRIMARY KEY (seq),
    CONSTRAINT settlements_match_once UNIQUE (match_id),
    CONSTRAINT settlements_match FOREIGN KEY (match_id) REFERENCES matches (id)
) STRICT;
CREATE INDEX settlements_by_league ON settlements (league, seq);

CREATE TABLE rating_changes (
    settlement  INTEGER NOT NULL,
    no          INTEGER NOT NULL, -- 0-based, the order in which they were computed
    agent_id    TEXT    NOT NULL,
    league      TEXT    NOT NULL,
    melo_before INTEGER NOT NULL,
    melo_after  INTEGER NOT NULL,
    delta       INTEGER NOT NULL,
    k           INTEGER NOT NULL,
    score       INTEGER NOT NULL,
    matches     INTEGER NOT NULL,
    CONSTRAINT rating_changes_pk PRIMARY KEY (settlement, no),
    CONSTRAINT rating_changes_once UNIQUE (settlement, agent_id),
    CONSTRAINT rating_changes_settlement FOREIGN KEY (settlement) REFERENCES settlements (seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX rating_changes_by_agent ON rating_changes (agent_id, league, settlement);

-- One row per name; a transaction that takes the next number holds the row
-- until it commits, so numbers have no gaps and stand in commit order.
CREATE TABLE counters (
    name  TEXT    NOT NULL,
    value INTEGER NOT NULL,
    CONSTRAINT counters_pk PRIMARY KEY (name)
) STRICT, WITHOUT ROWID;
INSERT INTO counters (name, value) VALUES ('settlements', 0);

CREATE TABLE ticks (
    job  TEXT    NOT NULL,
    tick INTEGER NOT NULL,
    CONSTRAINT ticks_pk PRIMARY KEY (job, tick)
) STRICT, WITHOUT ROWID;

-- +goose Down

DROP TABLE ticks;
DROP TABLE counters;
DROP TABLE rating_changes;
DROP TABLE settlements;
DROP TABLE met;
DROP TABLE ratings;
DROP TABLE events;
DROP TABLE deliveries;
DROP TABLE answers;
DROP TABLE rounds;
DROP TABLE seats;
DROP TABLE matches;
DROP TABLE entries;
DROP TABLE leagues;
DROP TABLE tasks;
DROP TABLE packs;
DROP TABLE uptime;
DROP TABLE agents;
DROP TABLE signing_keys;
DROP TABLE tokens;
DROP TABLE owners;
