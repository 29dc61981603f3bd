-- Times are unix milliseconds and 0 is "not set"; columns ending in _ns are
-- nanoseconds; ratings are thousandths of an Elo point; points are
-- thousandths of a point; yes/no columns are 1/0; lists and settings are JSON.
-- Text is compared byte by byte (COLLATE "C"), as SQLite and Go do.

-- +goose Up

CREATE TABLE owners (
    id         TEXT COLLATE "C" NOT NULL,
    name       TEXT COLLATE "C" NOT NULL,
    email      TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    CONSTRAINT owners_pk PRIMARY KEY (id)
);

CREATE TABLE tokens (
    id           TEXT COLLATE "C" NOT NULL,
    owner_id     TEXT COLLATE "C",             -- null: an admin token
    scope        TEXT COLLATE "C" NOT NULL,
    name         TEXT COLLATE "C" NOT NULL,
    hash         BYTEA   NOT NULL, -- SHA-256 of the secret
    created_at   BIGINT NOT NULL,
    last_used_at BIGINT NOT NULL,
    revoked_at   BIGINT NOT NULL,
    CONSTRAINT tokens_pk PRIMARY KEY (id),
    CONSTRAINT tokens_hash UNIQUE (hash),
    CONSTRAINT tokens_owner FOREIGN KEY (owner_id) REFERENCES owners (id),
    CONSTRAINT tokens_scope CHECK (scope IN ('owner', 'admin'))
);
CREATE INDEX tokens_by_owner ON tokens (owner_id, id);

CREATE TABLE signing_keys (
    kid        TEXT COLLATE "C" NOT NULL,
    alg        TEXT COLLATE "C" NOT NULL,
    private    BYTEA   NOT NULL, -- PKCS #8
    created_at BIGINT NOT NULL,
    signs_from BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    CONSTRAINT signing_keys_pk PRIMARY KEY (kid)
);

CREATE TABLE agents (
    id                  TEXT COLLATE "C" NOT NULL,
    owner_id            TEXT COLLATE "C" NOT NULL,
    name                TEXT COLLATE "C" NOT NULL,
    name_key            TEXT COLLATE "C" NOT NULL, -- case-folded
    protocol            TEXT COLLATE "C" NOT NULL,
    endpoint            TEXT COLLATE "C" NOT NULL,
    public_key          TEXT COLLATE "C" NOT NULL,
    version             TEXT COLLATE "C" NOT NULL,
    description         TEXT COLLATE "C" NOT NULL,
    pauses              TEXT COLLATE "C" NOT NULL, -- [{reason, since, until}]
    paused_until        BIGINT NOT NULL, -- latest end of all pauses; largest value: no end
    created_at          BIGINT NOT NULL,
    passed_at           BIGINT NOT NULL,
    retired_at          BIGINT NOT NULL,
    health_ok           BIGINT NOT NULL,
    checked_at          BIGINT NOT NULL,
    latency_ns          BIGINT NOT NULL,
    health_reason       TEXT COLLATE "C" NOT NULL,
    health_detail       TEXT COLLATE "C" NOT NULL,
    capabilities        TEXT COLLATE "C" NOT NULL, -- [slug]
    declared_latency_ns BIGINT NOT NULL,
    max_concurrent      BIGINT NOT NULL,
    failures            BIGINT NOT NULL,
    successes           BIGINT NOT NULL,
    CONSTRAINT agents_pk PRIMARY KEY (id),
    CONSTRAINT agents_owner FOREIGN KEY (owner_id) REFERENCES owners (id),
    CONSTRAINT agents_max_concurrent CHECK (max_concurrent >= 1)
);
CREATE UNIQUE INDEX agents_owner_name ON agents (owner_id, name_key) WHERE retired_at = 0;
CREATE INDEX agents_by_owner ON agents (owner_id, id);

CREATE TABLE uptime (
    agent_id TEXT COLLATE "C" NOT NULL,
    day      TEXT COLLATE "C" NOT NULL, -- 2026-11-21, UTC
    ok       BIGINT NOT NULL,
    failed   BIGINT NOT NULL,
    CONSTRAINT uptime_pk PRIMARY KEY (agent_id, day),
    CONSTRAINT uptime_agent FOREIGN KEY (agent_id) REFERENCES agents (id)
);

CREATE TABLE packs (
    id         TEXT COLLATE "C" NOT NULL,
    name       TEXT COLLATE "C" NOT NULL,
    format     TEXT COLLATE "C" NOT NULL,
    tasks      BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    CONSTRAINT packs_pk PRIMARY KEY (id)
);

CREATE TABLE tasks (
    pack_id TEXT COLLATE "C" NOT NULL,
    n       BIGINT NOT NULL, -- 0-based
    body    TEXT COLLATE "C" NOT NULL,
    CONSTRAINT tasks_pk PRIMARY KEY (pack_id, n),
    CONSTRAINT tasks_pack FOREIGN KEY (pack_id) REFERENCES packs (id)
);

CREATE TABLE leagues (
    slug        TEXT COLLATE "C" NOT NULL,
    title       TEXT COLLATE "C" NOT NULL,
    status      TEXT COLLATE "C" NOT NULL,
    settings    TEXT COLLATE "C" NOT NULL,
    entry       TEXT COLLATE "C" NOT NULL,
    schedule    TEXT COLLATE "C" NOT NULL,
    drift       BIGINT NOT NULL, -- sum of ratings - rated agents * 1500000
    created_at  BIGINT NOT NULL,
    next_run_at BIGINT NOT NULL,
    note        TEXT COLLATE "C" NOT NULL,
    CONSTRAINT leagues_pk PRIMARY KEY (slug),
    CONSTRAINT leagues_status CHECK (status IN ('draft', 'open', 'running', 'paused', 'frozen', 'finished'))
);

CREATE TABLE entries (
    league       TEXT COLLATE "C" NOT NULL,
    agent_id     TEXT COLLATE "C" NOT NULL,
    entered_at   BIGINT NOT NULL,
    withdrawn_at BIGINT NOT NULL,
    CONSTRAINT entries_pk PRIMARY KEY (league, agent_id),
    CONSTRAINT entries_league FOREIGN KEY (league) REFERENCES leagues (slug),
    CONSTRAINT entries_agent FOREIGN KEY (agent_id) REFERENCES agents (id)
);
CREATE INDEX entries_by_agent ON entries (agent_id, entered_at, league) WHERE withdrawn_at = 0;

CREATE TABLE matches (
    id          TEXT COLLATE "C" NOT NULL,
    league      TEXT COLLATE "C" NOT NULL,
    status      TEXT COLLATE "C" NOT NULL,
    settings    TEXT COLLATE "C" NOT NULL,
    seed        BIGINT NOT NULL, -- 64 bits, read as unsigned
    round       BIGINT NOT NULL,
    round_open  BIGINT NOT NULL,
    created_at  BIGINT NOT NULL,
    starts_at   BIGINT NOT NULL,
    started_at  BIGINT NOT NULL,
    finished_at BIGINT NOT NULL,
    void_reason TEXT COLLATE "C" NOT NULL,
    seq         BIGINT NOT NULL, -- last number of its log
    node        TEXT COLLATE "C" NOT NULL, -- who holds the lease
    epoch       BIGINT NOT NULL, -- grows with each claim
    lease_until BIGINT NOT NULL, -- by the database's clock
    CONSTRAINT matches_pk PRIMARY KEY (id),
    CONSTRAINT matches_league FOREIGN KEY (league) REFERENCES leagues (slug),
    CONSTRAINT matches_status CHECK (status IN ('scheduled', 'ready', 'running', 'finished', 'void', 'cancelled'))
);
CREATE INDEX matches_by_league ON matches (league, id);
CREATE INDEX matches_by_league_status ON matches (league, status, id);
CREATE INDEX matches_by_league_start ON matches (league, starts_at);
CREATE INDEX matches_by_status ON matches (status, id);
CREATE INDEX matches_by_start ON matches (status, starts_at, id);

CREATE TABLE seats (
    match_id      TEXT COLLATE "C" NOT NULL,
    no            BIGINT NOT NULL, -- 0-based
    agent_id      TEXT COLLATE "C" NOT NULL,
    pinned        BIGINT NOT NULL, -- 1: the next six are the seat's own, else the agent's
    name          TEXT COLLATE "C" NOT NULL,
    owner_id      TEXT COLLATE "C" NOT NULL,
    protocol      TEXT COLLATE "C" NOT NULL,
    endpoint      TEXT COLLATE "C" NOT NULL,
    public_key    TEXT COLLATE "C" NOT NULL,
    version       TEXT COLLATE "C" NOT NULL,
    state         TEXT COLLATE "C" NOT NULL,
    playing       BIGINT NOT NULL, -- 1: active, and the match is running
    out_round     BIGINT NOT NULL,
    points        BIGINT NOT NULL,
    place         BIGINT NOT NULL,
    outcome       TEXT COLLATE "C" NOT NULL,
    rate_limits   BIGINT NOT NULL,
    rating_before BIGINT NOT NULL,
    rating_delta  BIGINT,          -- null: not rated
    CONSTRAINT seats_pk PRIMARY KEY (match_id, no),
    CONSTRAINT seats_once UNIQUE (match_id, agent_id),
    CONSTRAINT seats_match FOREIGN KEY (match_id) REFERENCES matches (id),
    CONSTRAINT seats_agent FOREIGN KEY (agent_id) REFERENCES agents (id),
    CONSTRAINT seats_state CHECK (state IN ('active', 'out', 'left'))
);
CREATE INDEX seats_by_agent ON seats (agent_id, match_id);
CREATE INDEX seats_playing ON seats (agent_id) WHERE playing = 1;

CREATE TABLE rounds (
    match_id      TEXT COLLATE "C" NOT NULL,
    no            BIGINT NOT NULL, -- 1-based
    task          TEXT COLLATE "C" NOT NULL,
    opened_at     BIGINT NOT NULL,
    closed_at     BIGINT NOT NULL,
    interruptions BIGINT NOT NULL,
    opened_seq    BIGINT NOT NULL, -- last number of the log before it
    CONSTRAINT rounds_pk PRIMARY KEY (match_id, no),
    CONSTRAINT rounds_match FOREIGN KEY (match_id) REFERENCES matches (id)
);

CREATE TABLE answers (
    match_id   TEXT COLLATE "C" NOT NULL,
    round      BIGINT NOT NULL,
    agent_id   TEXT COLLATE "C" NOT NULL,
    outcome    TEXT COLLATE "C" NOT NULL,
    reason     TEXT COLLATE "C" NOT NULL,
    body       TEXT COLLATE "C",             -- null unless answered
    elapsed_ns BIGINT NOT NULL,
    attempts   BIGINT NOT NULL,
    points     BIGINT NOT NULL,
    judged     BIGINT NOT NULL,
    CONSTRAINT answers_pk PRIMARY KEY (match_id, round, agent_id),
    CONSTRAINT answers_round FOREIGN KEY (match_id, round) REFERENCES rounds (match_id, no)
);
CREATE INDEX answers_by_agent ON answers (agent_id, outcome);

CREATE TABLE deliveries (
    id         TEXT COLLATE "C" NOT NULL,
    match_id   TEXT COLLATE "C" NOT NULL,
    league     TEXT COLLATE "C" NOT NULL,
    agent_id   TEXT COLLATE "C" NOT NULL,
    round      BIGINT NOT NULL,
    task_id    TEXT COLLATE "C" NOT NULL,
    attempt    BIGINT NOT NULL,
    status     BIGINT NOT NULL,
    outcome    TEXT COLLATE "C" NOT NULL,
    reason     TEXT COLLATE "C" NOT NULL,
    detail     TEXT COLLATE "C" NOT NULL,
    sent_at    BIGINT NOT NULL,
    elapsed_ns BIGINT NOT NULL,
    request    BYTEA,
    response   BYTEA,
    CONSTRAINT deliveries_pk PRIMARY KEY (id),
    CONSTRAINT deliveries_match FOREIGN KEY (match_id) REFERENCES matches (id)
);
CREATE INDEX deliveries_by_agent ON deliveries (agent_id, id);

CREATE TABLE events (
    match_id TEXT COLLATE "C" NOT NULL,
    seq      BIGINT NOT NULL, -- 1, 2, 3 … without gaps
    round    BIGINT NOT NULL,
    agent_id TEXT COLLATE "C" NOT NULL, -- '': the match itself
    at       BIGINT NOT NULL,
    type     TEXT COLLATE "C" NOT NULL,
    body     TEXT COLLATE "C" NOT NULL, -- what anyone may read
    hidden   TEXT COLLATE "C" NOT NULL, -- what nobody may read before the round closes; '' nothing
    CONSTRAINT events_pk PRIMARY KEY (match_id, seq),
    CONSTRAINT events_match FOREIGN KEY (match_id) REFERENCES matches (id)
);

CREATE TABLE ratings (
    league        TEXT COLLATE "C" NOT NULL,
    agent_id      TEXT COLLATE "C" NOT NULL,
    melo          BIGINT NOT NULL,
    matches       BIGINT NOT NULL,
    peak          BIGINT NOT NULL,
    new_version   BIGINT NOT NULL,
    wins          BIGINT NOT NULL,
    draws         BIGINT NOT NULL,
    losses        BIGINT NOT NULL,
    opponents     BIGINT NOT NULL, -- how many rows of met name it
    recent        TEXT COLLATE "C" NOT NULL, -- its last 20 ratings, oldest first
    last_rated_at BIGINT NOT NULL,
    CONSTRAINT ratings_pk PRIMARY KEY (league, agent_id),
    CONSTRAINT ratings_league FOREIGN KEY (league) REFERENCES leagues (slug),
    CONSTRAINT ratings_agent FOREIGN KEY (agent_id) REFERENCES agents (id)
);
CREATE INDEX ratings_by_agent ON ratings (agent_id);

CREATE TABLE met (
    league TEXT COLLATE "C" NOT NULL,
    a      TEXT COLLATE "C" NOT NULL, -- a < b
    b      TEXT COLLATE "C" NOT NULL,
    CONSTRAINT met_pk PRIMARY KEY (league, a, b),
    CONSTRAINT met_order CHECK (a < b)
);

CREATE TABLE settlements (
    seq      BIGINT NOT NULL, -- 1, 2, 3 … without gaps, in commit order
    match_id TEXT COLLATE "C" NOT NULL,
    league   TEXT COLLATE "C" NOT NULL,
    at       BIGINT NOT NULL,
    drift    BIGINT NOT NULL,
    CONSTRAINT settlements_pk PRIMARY KEY (seq),
    CONSTRAINT settlements_match_once UNIQUE (match_id),
    CONSTRAINT settlements_match FOREIGN KEY (match_id) REFERENCES matches (id)
);
CREATE INDEX settlements_by_league ON settlements (league, seq);

CREATE TABLE rating_changes (
    settlement  BIGINT NOT NULL,
    no          BIGINT NOT NULL, -- 0-based, the order in which they were computed
    agent_id    TEXT COLLATE "C" NOT NULL,
    league      TEXT COLLATE "C" NOT NULL,
    melo_before BIGINT NOT NULL,
    melo_after  BIGINT NOT NULL,
    delta       BIGINT NOT NULL,
    k           BIGINT NOT NULL,
    score       BIGINT NOT NULL,
    matches     BIGINT NOT NULL,
    CONSTRAINT rating_changes_pk PRIMARY KEY (settlement, no),
    CONSTRAINT rating_changes_once UNIQUE (settlement, agent_id),
    CONSTRAINT rating_changes_settlement FOREIGN KEY (settlement) REFERENCES settlements (seq)
);
CREATE INDEX rating_changes_by_agent ON rating_changes (agent_id, league, settlement);

-- One row per name; a transaction that takes the next number holds the row
-- until it commits, so numbers have no gaps and stand in commit order.
CREATE TABLE counters (
    name  TEXT COLLATE "C" NOT NULL,
    value BIGINT NOT NULL,
    CONSTRAINT counters_pk PRIMARY KEY (name)
);
INSERT INTO counters (name, value) VALUES ('settlements', 0);

CREATE TABLE ticks (
    job  TEXT COLLATE "C" NOT NULL,
    tick BIGINT NOT NULL,
    CONSTRAINT ticks_pk PRIMARY KEY (job, tick)
);

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
