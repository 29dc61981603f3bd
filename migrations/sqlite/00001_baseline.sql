-- The schema of Agora Arena. Times are milliseconds since 1970, UTC; 0: never.
-- Points and ratings are thousandths.

-- +goose Up

CREATE TABLE owners (
    id                 TEXT NOT NULL,
    name               TEXT NOT NULL,
    email              TEXT NOT NULL,
    created_at         INTEGER NOT NULL,
    suspended_at       INTEGER NOT NULL DEFAULT 0,
    network            TEXT NOT NULL DEFAULT '',   -- '': unknown, or not public
    suspend_reason     TEXT NOT NULL DEFAULT '',
    erased_at          INTEGER NOT NULL DEFAULT 0, -- 0: not deleted
    role               TEXT NOT NULL DEFAULT '',   -- admin, organizer or moderator; empty: none
    role_leagues       TEXT NOT NULL DEFAULT '[]', -- [slug], of an organizer
    email_confirmed_at INTEGER NOT NULL DEFAULT 0, -- 0: not confirmed
    no_pause_mails     INTEGER NOT NULL DEFAULT 0, -- 1: no mail when the arena pauses an agent
    CONSTRAINT owners_pk PRIMARY KEY (id)
) STRICT;
CREATE INDEX owners_by_network ON owners (network, id) WHERE network <> '';
CREATE INDEX owners_suspended ON owners (suspended_at) WHERE suspended_at > 0;
CREATE INDEX owners_by_role ON owners (role, id) WHERE role <> '';
CREATE INDEX owners_by_email ON owners (lower(email), id) WHERE email_confirmed_at > 0;

CREATE TABLE signing_keys (
    kid        TEXT NOT NULL,
    alg        TEXT NOT NULL,
    private    BLOB NOT NULL, -- PKCS #8
    created_at INTEGER NOT NULL,
    signs_from INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    CONSTRAINT signing_keys_pk PRIMARY KEY (kid)
) STRICT;

CREATE TABLE agents (
    id                  TEXT NOT NULL,
    owner_id            TEXT NOT NULL,
    name                TEXT NOT NULL,
    name_key            TEXT NOT NULL,              -- case-folded
    protocol            TEXT NOT NULL,
    endpoint            TEXT NOT NULL,
    public_key          TEXT NOT NULL,
    version             TEXT NOT NULL,
    description         TEXT NOT NULL,
    pauses              TEXT NOT NULL,              -- [{reason, since, until}]
    paused_until        INTEGER NOT NULL,           -- latest end of all pauses; largest value: no end
    created_at          INTEGER NOT NULL,
    passed_at           INTEGER NOT NULL,
    retired_at          INTEGER NOT NULL,
    health_ok           INTEGER NOT NULL,
    checked_at          INTEGER NOT NULL,
    latency_ns          INTEGER NOT NULL,
    health_reason       TEXT NOT NULL,
    health_detail       TEXT NOT NULL,
    capabilities        TEXT NOT NULL,              -- [slug]
    declared_latency_ns INTEGER NOT NULL,
    max_concurrent      INTEGER NOT NULL,
    failures            INTEGER NOT NULL,
    successes           INTEGER NOT NULL,
    key_proved_at       INTEGER NOT NULL DEFAULT 0,
    endpoint_key        TEXT NOT NULL DEFAULT '',
    endpoint_since      INTEGER NOT NULL DEFAULT 0,
    endpoint_domain     TEXT NOT NULL DEFAULT '',   -- '': none, or an address
    pull_concurrent     INTEGER NOT NULL DEFAULT 1,
    pause_after         INTEGER NOT NULL DEFAULT 10,
    resumed_at          INTEGER NOT NULL DEFAULT 0,
    budget              TEXT NOT NULL DEFAULT '{}', -- JSON; '{}': no limits
    round_tokens        INTEGER NOT NULL DEFAULT 0, -- of a rehearsal; 0: unknown
    CONSTRAINT agents_pk PRIMARY KEY (id),
    CONSTRAINT agents_owner FOREIGN KEY (owner_id) REFERENCES owners (id),
    CONSTRAINT agents_max_concurrent CHECK (max_concurrent >= 1)
) STRICT;
CREATE UNIQUE INDEX agents_owner_name ON agents (owner_id, name_key) WHERE retired_at = 0;
CREATE INDEX agents_by_owner ON agents (owner_id, id);
CREATE UNIQUE INDEX agents_key ON agents (protocol, public_key) WHERE key_proved_at > 0 AND retired_at = 0;
CREATE INDEX agents_by_endpoint_key ON agents (endpoint_key, id) WHERE endpoint_key <> '';
CREATE INDEX agents_by_public_key ON agents (public_key, id) WHERE public_key <> '';
CREATE INDEX agents_by_endpoint_domain ON agents (endpoint_domain, id) WHERE endpoint_domain <> '';
CREATE INDEX agents_retired ON agents (retired_at) WHERE retired_at > 0;
CREATE INDEX agents_moved ON agents (endpoint_since) WHERE endpoint_since > 0;

CREATE TABLE uptime (
    agent_id TEXT NOT NULL,
    day      TEXT NOT NULL, -- 2026-11-21, UTC
    ok       INTEGER NOT NULL,
    failed   INTEGER NOT NULL,
    CONSTRAINT uptime_pk PRIMARY KEY (agent_id, day),
    CONSTRAINT uptime_agent FOREIGN KEY (agent_id) REFERENCES agents (id)
) STRICT, WITHOUT ROWID;

CREATE TABLE packs (
    id         TEXT NOT NULL,
    name       TEXT NOT NULL,
    format     TEXT NOT NULL,
    tasks      INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    CONSTRAINT packs_pk PRIMARY KEY (id)
) STRICT;

CREATE TABLE tasks (
    pack_id     TEXT NOT NULL,
    n           INTEGER NOT NULL, -- 0-based
    body        TEXT NOT NULL,
    removed_at  INTEGER NOT NULL DEFAULT 0,
    replaced_by INTEGER NOT NULL DEFAULT 0,
    corrected_at INTEGER NOT NULL DEFAULT 0, -- since when played rounds are judged by the answers of replaced_by
    CONSTRAINT tasks_pk PRIMARY KEY (pack_id, n),
    CONSTRAINT tasks_pack FOREIGN KEY (pack_id) REFERENCES packs (id)
) STRICT, WITHOUT ROWID;
CREATE INDEX tasks_removed ON tasks (pack_id, n) WHERE removed_at > 0;
CREATE INDEX tasks_replaced ON tasks (pack_id, n) WHERE replaced_by > 0;

CREATE TABLE leagues (
    slug          TEXT NOT NULL,
    title         TEXT NOT NULL,
    status        TEXT NOT NULL,
    settings      TEXT NOT NULL,
    entry         TEXT NOT NULL,
    schedule      TEXT NOT NULL,
    drift         INTEGER NOT NULL, -- sum of ratings - rated agents * 1500000
    created_at    INTEGER NOT NULL,
    next_run_at   INTEGER NOT NULL,
    note          TEXT NOT NULL,
    description   TEXT NOT NULL DEFAULT '',
    prize         TEXT NOT NULL DEFAULT '',
    rules_text    TEXT NOT NULL DEFAULT '',
    signup_until  INTEGER NOT NULL DEFAULT 0,
    archived_at   INTEGER NOT NULL DEFAULT 0,
    removed_tasks INTEGER NOT NULL DEFAULT 0,
    corrected_tasks INTEGER NOT NULL DEFAULT 0,
    CONSTRAINT leagues_pk PRIMARY KEY (slug),
    CONSTRAINT leagues_status CHECK (status IN ('draft', 'open', 'running', 'paused', 'frozen', 'finished'))
) STRICT;

CREATE TABLE entries (
    league       TEXT NOT NULL,
    agent_id     TEXT NOT NULL,
    entered_at   INTEGER NOT NULL,
    withdrawn_at INTEGER NOT NULL,
    CONSTRAINT entries_pk PRIMARY KEY (league, agent_id),
    CONSTRAINT entries_league FOREIGN KEY (league) REFERENCES leagues (slug),
    CONSTRAINT entries_agent FOREIGN KEY (agent_id) REFERENCES agents (id)
) STRICT, WITHOUT ROWID;
CREATE INDEX entries_by_agent ON entries (agent_id, entered_at, league) WHERE withdrawn_at = 0;

CREATE TABLE matches (
    id             TEXT NOT NULL,
    league         TEXT NOT NULL,
    status         TEXT NOT NULL,
    settings       TEXT NOT NULL,
    seed           INTEGER NOT NULL,           -- 64 bits, read as unsigned
    round          INTEGER NOT NULL,
    round_open     INTEGER NOT NULL,
    created_at     INTEGER NOT NULL,
    starts_at      INTEGER NOT NULL,
    started_at     INTEGER NOT NULL,
    finished_at    INTEGER NOT NULL,
    void_code      TEXT NOT NULL,
    void_reason    TEXT NOT NULL,              -- of the code operator
    seq            INTEGER NOT NULL,           -- last number of its log
    node           TEXT NOT NULL,              -- who holds the lease
    epoch          INTEGER NOT NULL,           -- grows with each claim
    lease_until    INTEGER NOT NULL,           -- by the database's clock
    log_state      INTEGER NOT NULL DEFAULT 0, -- where its log is; 0: events, 1: event_archives, 2: dropped
    interruptions  INTEGER NOT NULL DEFAULT 0,
    delay          INTEGER NOT NULL DEFAULT 0,
    judging        INTEGER NOT NULL DEFAULT 0,
    seed_salt      TEXT NOT NULL DEFAULT '',
    unrated_reason TEXT NOT NULL DEFAULT '',
    CONSTRAINT matches_pk PRIMARY KEY (id),
    CONSTRAINT matches_league FOREIGN KEY (league) REFERENCES leagues (slug),
    CONSTRAINT matches_status CHECK (status IN ('scheduled', 'ready', 'running', 'finished', 'void', 'cancelled'))
) STRICT;
CREATE INDEX matches_by_league ON matches (league, id);
CREATE INDEX matches_by_league_status ON matches (league, status, id);
CREATE INDEX matches_by_league_start ON matches (league, starts_at);
CREATE INDEX matches_by_status ON matches (status, id);
CREATE INDEX matches_by_start ON matches (status, starts_at, id);
CREATE INDEX matches_by_log ON matches (log_state, finished_at, id);
CREATE INDEX matches_delayed ON matches (id) WHERE delay > 0;
CREATE INDEX matches_by_time ON matches (starts_at, id);

CREATE TABLE seats (
    match_id        TEXT NOT NULL,
    no              INTEGER NOT NULL,           -- 0-based
    agent_id        TEXT NOT NULL,
    pinned          INTEGER NOT NULL,           -- 1: the next six are the seat's own, else the agent's
    name            TEXT NOT NULL,
    owner_id        TEXT NOT NULL,
    protocol        TEXT NOT NULL,
    endpoint        TEXT NOT NULL,
    public_key      TEXT NOT NULL,
    version         TEXT NOT NULL,
    state           TEXT NOT NULL,
    playing         INTEGER NOT NULL,           -- 1: active, and the match is running
    out_round       INTEGER NOT NULL,
    points          INTEGER NOT NULL,
    place           INTEGER NOT NULL,
    outcome         TEXT NOT NULL,
    rate_limits     INTEGER NOT NULL,
    rating_before   INTEGER NOT NULL,
    rating_delta    INTEGER,                    -- null: not rated
    salt            TEXT NOT NULL DEFAULT '',   -- secret; '': erased
    lost_rounds     INTEGER NOT NULL DEFAULT 0,
    skipped_rounds  INTEGER NOT NULL DEFAULT 0,
    owner_group     TEXT NOT NULL DEFAULT '',
    tokens          INTEGER NOT NULL DEFAULT 0, -- of the answers in closed rounds
    reserved_tokens INTEGER NOT NULL DEFAULT 0, -- what the match was estimated to cost an agent with a budget when it was created
    ended_at        INTEGER NOT NULL DEFAULT 0, -- of its match, if it was started; 0: it is not over
    CONSTRAINT seats_pk PRIMARY KEY (match_id, no),
    CONSTRAINT seats_once UNIQUE (match_id, agent_id),
    CONSTRAINT seats_match FOREIGN KEY (match_id) REFERENCES matches (id),
    CONSTRAINT seats_agent FOREIGN KEY (agent_id) REFERENCES agents (id),
    CONSTRAINT seats_state CHECK (state IN ('active', 'out', 'left'))
) STRICT, WITHOUT ROWID;
CREATE INDEX seats_by_agent ON seats (agent_id, match_id);
CREATE INDEX seats_playing ON seats (agent_id) WHERE playing = 1;
CREATE INDEX seats_ended ON seats (agent_id, ended_at, tokens) WHERE ended_at > 0;

CREATE TABLE deliveries (
    id         TEXT NOT NULL,
    match_id   TEXT NOT NULL,
    league     TEXT NOT NULL,
    agent_id   TEXT NOT NULL,
    round      INTEGER NOT NULL,
    task_id    TEXT NOT NULL,
    attempt    INTEGER NOT NULL,
    status     INTEGER NOT NULL,
    outcome    TEXT NOT NULL,
    reason     TEXT NOT NULL,
    detail     TEXT NOT NULL,
    sent_at    INTEGER NOT NULL,
    elapsed_ns INTEGER NOT NULL,
    request    BLOB,
    response   BLOB,
    CONSTRAINT deliveries_pk PRIMARY KEY (id),
    CONSTRAINT deliveries_match FOREIGN KEY (match_id) REFERENCES matches (id)
) STRICT;
CREATE INDEX deliveries_by_agent ON deliveries (agent_id, id);

CREATE TABLE ratings (
    league          TEXT NOT NULL,
    agent_id        TEXT NOT NULL,
    melo            INTEGER NOT NULL,
    matches         INTEGER NOT NULL,
    peak            INTEGER NOT NULL,
    new_version     INTEGER NOT NULL,
    wins            INTEGER NOT NULL,
    draws           INTEGER NOT NULL,
    losses          INTEGER NOT NULL,
    opponents       INTEGER NOT NULL, -- how many rows of met name it
    recent          TEXT NOT NULL,    -- its last 20 ratings, oldest first
    last_rated_at   INTEGER NOT NULL,
    opponent_groups INTEGER NOT NULL DEFAULT 0,
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
    match_id TEXT NOT NULL,
    league   TEXT NOT NULL,
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
    agent_id    TEXT NOT NULL,
    league      TEXT NOT NULL,
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
    name  TEXT NOT NULL,
    value INTEGER NOT NULL,
    CONSTRAINT counters_pk PRIMARY KEY (name)
) STRICT, WITHOUT ROWID;

CREATE TABLE event_archives (
    match_id    TEXT NOT NULL,
    first_seq   INTEGER NOT NULL,
    last_seq    INTEGER NOT NULL,
    count       INTEGER NOT NULL,
    bytes       INTEGER NOT NULL, -- before it was compressed
    archived_at INTEGER NOT NULL,
    data        BLOB NOT NULL,    -- the events without hidden parts, zstd
    CONSTRAINT event_archives_pk PRIMARY KEY (match_id, first_seq),
    CONSTRAINT event_archives_match FOREIGN KEY (match_id) REFERENCES matches (id)
) STRICT;

CREATE TABLE seasons (
    id          TEXT NOT NULL,
    league      TEXT NOT NULL,
    no          INTEGER NOT NULL, -- 1, 2, 3 … within the league
    status      TEXT NOT NULL,
    format      TEXT NOT NULL,
    options     TEXT NOT NULL,
    seed        INTEGER NOT NULL, -- 64 bits, read as unsigned
    version     INTEGER NOT NULL, -- grows with each change
    started_at  INTEGER NOT NULL,
    ends_at     INTEGER NOT NULL,
    finished_at INTEGER NOT NULL,
    final       TEXT NOT NULL,    -- its table once it is finished, else ''
    CONSTRAINT seasons_pk PRIMARY KEY (id),
    CONSTRAINT seasons_no UNIQUE (league, no),
    CONSTRAINT seasons_league FOREIGN KEY (league) REFERENCES leagues (slug),
    CONSTRAINT seasons_status CHECK (status IN ('running', 'finished'))
) STRICT;
CREATE UNIQUE INDEX seasons_running ON seasons (league) WHERE status = 'running';

CREATE TABLE entrants (
    season_id       TEXT NOT NULL,
    agent_id        TEXT NOT NULL,
    owner_id        TEXT NOT NULL,
    name            TEXT NOT NULL,
    rating          INTEGER NOT NULL, -- when it joined
    round           INTEGER NOT NULL, -- the first in which it plays
    withdrawn_round INTEGER NOT NULL, -- the first in which it plays no more
    CONSTRAINT entrants_pk PRIMARY KEY (season_id, agent_id),
    CONSTRAINT entrants_season FOREIGN KEY (season_id) REFERENCES seasons (id),
    CONSTRAINT entrants_agent FOREIGN KEY (agent_id) REFERENCES agents (id)
) STRICT, WITHOUT ROWID;

CREATE TABLE pairings (
    season_id  TEXT NOT NULL,
    round      INTEGER NOT NULL, -- 1-based, like slot and game
    slot       INTEGER NOT NULL,
    game       INTEGER NOT NULL,
    bracket    TEXT NOT NULL,
    agents     TEXT NOT NULL,    -- [id]
    result     TEXT NOT NULL,    -- '' while it is open
    scores     TEXT NOT NULL,    -- one per agent, '' none
    match_id   TEXT,             -- chosen before the match is made
    created_at INTEGER NOT NULL,
    decided_at INTEGER NOT NULL,
    CONSTRAINT pairings_pk PRIMARY KEY (season_id, round, slot, game),
    CONSTRAINT pairings_match UNIQUE (match_id),
    CONSTRAINT pairings_season FOREIGN KEY (season_id) REFERENCES seasons (id)
) STRICT, WITHOUT ROWID;

CREATE TABLE fits (
    league     TEXT NOT NULL,
    settlement INTEGER NOT NULL, -- the last one that is in it
    at         INTEGER NOT NULL,
    lines      TEXT NOT NULL,    -- one for each rated agent
    CONSTRAINT fits_pk PRIMARY KEY (league),
    CONSTRAINT fits_league FOREIGN KEY (league) REFERENCES leagues (slug)
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
    id     TEXT NOT NULL,
    at     INTEGER NOT NULL,
    actor  TEXT NOT NULL, -- owner id, 'admin', or 'arena'
    token  TEXT NOT NULL, -- id of the token, '' none
    action TEXT NOT NULL,
    target TEXT NOT NULL,
    before TEXT NOT NULL, -- JSON, '' nothing
    after  TEXT NOT NULL,
    CONSTRAINT audit_pk PRIMARY KEY (id)
) STRICT, WITHOUT ROWID;
CREATE INDEX audit_by_actor ON audit (actor, id);
CREATE INDEX audit_by_action ON audit (action, id);
CREATE INDEX audit_by_target ON audit (target, id);

-- Messages that wait for whoever asks for them: agents that only poll, and
-- nodes whose answer came in at another.
CREATE TABLE mail (
    box        TEXT NOT NULL,
    n          INTEGER NOT NULL, -- 1, 2, 3 … in its box
    id         TEXT NOT NULL,
    body       BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    CONSTRAINT mail_pk PRIMARY KEY (box, n)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX mail_id ON mail (box, id);
CREATE INDEX mail_expiry ON mail (expires_at);

-- What was seen before and must not count twice.
CREATE TABLE seen (
    scope      TEXT NOT NULL,
    id         TEXT NOT NULL,
    digest     BLOB NOT NULL,
    expires_at INTEGER NOT NULL,
    CONSTRAINT seen_pk PRIMARY KEY (scope, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX seen_expiry ON seen (expires_at);

CREATE TABLE envelopes (
    no          INTEGER NOT NULL,           -- order of arrival
    seq         INTEGER NOT NULL,           -- order of becoming visible; 0: sealed
    id          TEXT NOT NULL,
    sender      TEXT NOT NULL,
    recipient   TEXT NOT NULL,              -- '' everyone
    type        TEXT NOT NULL,
    thread      TEXT NOT NULL,
    request_id  TEXT NOT NULL,
    ts          INTEGER NOT NULL,           -- the sender's clock
    received_at INTEGER NOT NULL,
    shown_at    INTEGER NOT NULL,           -- grows with seq; 0: sealed
    expires_at  INTEGER NOT NULL,
    digest      BLOB NOT NULL,              -- SHA-256 of the signed text
    body        BLOB NOT NULL,              -- as received
    match_id    TEXT NOT NULL,              -- '' not a task of the arena
    round       INTEGER NOT NULL,
    agent_id    TEXT NOT NULL,
    owner_id    TEXT NOT NULL DEFAULT '',   -- of the sender; '': the arena
    size        INTEGER NOT NULL DEFAULT 0, -- bytes of the body
    CONSTRAINT envelopes_pk PRIMARY KEY (no),
    CONSTRAINT envelopes_id UNIQUE (sender, id)
) STRICT;
CREATE INDEX envelopes_by_shown ON envelopes (shown_at, seq);
CREATE INDEX envelopes_by_thread ON envelopes (thread, no);
CREATE INDEX envelopes_by_request ON envelopes (request_id, no) WHERE type = 'REQUEST';
CREATE INDEX envelopes_by_sender ON envelopes (sender, received_at);
CREATE INDEX envelopes_by_ts ON envelopes (recipient, ts, sender);
CREATE INDEX envelopes_sealed ON envelopes (match_id, round) WHERE seq = 0;
CREATE INDEX envelopes_by_age ON envelopes (received_at);
CREATE INDEX envelopes_by_owner ON envelopes (owner_id, size) WHERE owner_id <> '';
CREATE INDEX envelopes_by_seq ON envelopes (seq, expires_at);
CREATE INDEX envelopes_by_type ON envelopes (type, seq, expires_at);
CREATE INDEX envelopes_by_recipient ON envelopes (recipient, seq, expires_at);
CREATE INDEX envelopes_by_recipient_and_type ON envelopes (recipient, type, seq, expires_at);
CREATE INDEX envelopes_by_sender_in_order ON envelopes (sender, seq, expires_at, type, recipient);
CREATE INDEX envelopes_by_thread_in_order ON envelopes (thread, seq, expires_at, type);
CREATE INDEX envelopes_by_time ON envelopes (ts, seq);

CREATE TABLE relay_keys (
    key         TEXT NOT NULL,    -- did:key
    polled_at   INTEGER NOT NULL, -- 0: never
    manifest    BLOB NOT NULL,    -- JSON, empty: none
    manifest_at INTEGER NOT NULL,
    CONSTRAINT relay_keys_pk PRIMARY KEY (key)
) STRICT, WITHOUT ROWID;

CREATE TABLE own_keys (
    name    TEXT NOT NULL,
    private BLOB NOT NULL, -- PKCS #8
    CONSTRAINT own_keys_pk PRIMARY KEY (name)
) STRICT, WITHOUT ROWID;

CREATE TABLE conversations (
    key        BLOB NOT NULL,            -- SHA-256 of its id
    agent_id   TEXT NOT NULL,            -- under whose secret base; '' the public one
    address    TEXT NOT NULL,
    document   TEXT NOT NULL,            -- hash of its Protocol Document, '' none
    state      TEXT NOT NULL,            -- JSON, '' nothing
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    site       TEXT NOT NULL DEFAULT '', -- '': none
    CONSTRAINT conversations_pk PRIMARY KEY (key)
) STRICT, WITHOUT ROWID;
CREATE INDEX conversations_by_address ON conversations (address, expires_at);
CREATE INDEX conversations_expiry ON conversations (expires_at);
CREATE INDEX conversations_by_site ON conversations (site, expires_at) WHERE site <> '';

CREATE TABLE secret_bases (
    agent_id       TEXT NOT NULL,
    hash           BLOB NOT NULL,    -- SHA-256 of its secret
    created_at     INTEGER NOT NULL,
    alive_until    INTEGER NOT NULL, -- 0: never polled
    max_concurrent INTEGER NOT NULL,
    CONSTRAINT secret_bases_pk PRIMARY KEY (agent_id),
    CONSTRAINT secret_bases_hash UNIQUE (hash),
    CONSTRAINT secret_bases_agent FOREIGN KEY (agent_id) REFERENCES agents (id)
) STRICT, WITHOUT ROWID;

-- What agents of AgentProtocol said of themselves in their last hello, and
-- their newest connection.
CREATE TABLE peers (
    agent_id     TEXT NOT NULL,
    key_name     TEXT NOT NULL,
    capabilities TEXT NOT NULL,    -- [name]
    hello_at     INTEGER NOT NULL,
    way          TEXT NOT NULL,
    epoch        INTEGER NOT NULL, -- grows with each connection
    seen_at      INTEGER NOT NULL, -- 0: the newest connection has ended
    CONSTRAINT peers_pk PRIMARY KEY (agent_id),
    CONSTRAINT peers_agent FOREIGN KEY (agent_id) REFERENCES agents (id)
) STRICT, WITHOUT ROWID;
CREATE INDEX peers_key_name ON peers (key_name);

CREATE TABLE identities (
    issuer     TEXT NOT NULL,
    subject    TEXT NOT NULL,
    owner_id   TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    CONSTRAINT identities_pk PRIMARY KEY (issuer, subject),
    CONSTRAINT identities_owner FOREIGN KEY (owner_id) REFERENCES owners (id)
) STRICT, WITHOUT ROWID;

CREATE TABLE conformance (
    agent_id     TEXT NOT NULL,
    version      TEXT NOT NULL, -- of the agent, as its owner calls it
    checked_at   INTEGER NOT NULL,
    passed       INTEGER NOT NULL,
    must_pass    INTEGER NOT NULL,
    must_total   INTEGER NOT NULL,
    should_pass  INTEGER NOT NULL,
    should_total INTEGER NOT NULL,
    report       TEXT NOT NULL, -- JSON
    CONSTRAINT conformance_pk PRIMARY KEY (agent_id, version),
    CONSTRAINT conformance_agent FOREIGN KEY (agent_id) REFERENCES agents (id)
) STRICT;
CREATE INDEX conformance_latest ON conformance (agent_id, checked_at);

CREATE TABLE nodes (
    node          TEXT NOT NULL,
    version       TEXT NOT NULL,
    started_at    INTEGER NOT NULL,
    seen_at       INTEGER NOT NULL, -- its last sign of life, by the database's clock
    draining      INTEGER NOT NULL,
    last_error    TEXT NOT NULL,    -- '' none
    last_error_at INTEGER NOT NULL,
    CONSTRAINT nodes_pk PRIMARY KEY (node)
) STRICT, WITHOUT ROWID;

CREATE TABLE banner (
    one   INTEGER NOT NULL, -- there is one for the whole arena
    text  TEXT NOT NULL,
    since INTEGER NOT NULL,
    CONSTRAINT banner_pk PRIMARY KEY (one),
    CONSTRAINT banner_one CHECK (one = 1)
) STRICT;

CREATE TABLE encounters (
    a      TEXT NOT NULL,    -- a < b
    b      TEXT NOT NULL,
    a_wins INTEGER NOT NULL, -- finished matches, rated or not, that neither left and a ended in the better place
    draws  INTEGER NOT NULL,
    b_wins INTEGER NOT NULL,
    CONSTRAINT encounters_pk PRIMARY KEY (a, b),
    CONSTRAINT encounters_order CHECK (a < b)
) STRICT, WITHOUT ROWID;
CREATE INDEX encounters_by_b ON encounters (b);

CREATE TABLE outcomes (
    agent_id TEXT NOT NULL,
    outcome  TEXT NOT NULL,
    rounds   INTEGER NOT NULL, -- of matches that are over, finished or void
    CONSTRAINT outcomes_pk PRIMARY KEY (agent_id, outcome)
) STRICT, WITHOUT ROWID;

CREATE TABLE erasures (
    match_id    TEXT NOT NULL,
    commitments TEXT NOT NULL, -- to all erased texts, by pointer into the record; JSON
    CONSTRAINT erasures_pk PRIMARY KEY (match_id),
    CONSTRAINT erasures_match FOREIGN KEY (match_id) REFERENCES matches (id)
) STRICT, WITHOUT ROWID;

-- The forms of the names of agents that are not retired and of owners that are not
-- deleted: no two of a kind look alike.
CREATE TABLE names (
    key    TEXT NOT NULL, -- begins with the kind
    holder TEXT NOT NULL, -- id of an agent or owner
    CONSTRAINT names_pk PRIMARY KEY (key)
) STRICT;
CREATE INDEX names_by_holder ON names (holder);

-- The first groups of owners that an agent has met in rated matches of a league.
CREATE TABLE met_groups (
    league      TEXT NOT NULL,
    agent_id    TEXT NOT NULL,
    owner_group TEXT NOT NULL,
    CONSTRAINT met_groups_pk PRIMARY KEY (league, agent_id, owner_group)
) STRICT, WITHOUT ROWID;

-- The form of messages that an agent of two-party Agora accepted.
CREATE TABLE agora_ways (
    agent_id TEXT NOT NULL,
    endpoint TEXT NOT NULL, -- where it did
    way      TEXT NOT NULL, -- hex, base64, data, words
    CONSTRAINT agora_ways_pk PRIMARY KEY (agent_id),
    CONSTRAINT agora_ways_agent FOREIGN KEY (agent_id) REFERENCES agents (id)
) STRICT, WITHOUT ROWID;

-- Keys of agents are tokens. A constraint cannot be changed here, so the table
-- is made anew.
CREATE TABLE tokens (
    id           TEXT NOT NULL,
    owner_id     TEXT,                       -- null: an admin's, organizer's or moderator's token
    scope        TEXT NOT NULL,
    name         TEXT NOT NULL,
    hash         BLOB NOT NULL,              -- SHA-256 of the secret
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    revoked_at   INTEGER NOT NULL,
    leagues      TEXT NOT NULL DEFAULT '[]', -- [slug], of an organizer
    expires_at   INTEGER NOT NULL DEFAULT 0,
    configured   INTEGER NOT NULL DEFAULT 0, -- 1: ARENA_ADMIN_TOKEN holds it, or held it once
    agent_id     TEXT,                       -- null: not the key of an agent
    last_used_by TEXT NOT NULL DEFAULT '',   -- network; '': unknown
    CONSTRAINT tokens_pk PRIMARY KEY (id),
    CONSTRAINT tokens_hash UNIQUE (hash),
    CONSTRAINT tokens_owner FOREIGN KEY (owner_id) REFERENCES owners (id),
    CONSTRAINT tokens_agent FOREIGN KEY (agent_id) REFERENCES agents (id),
    CONSTRAINT tokens_scope CHECK (scope IN ('owner', 'admin', 'organizer', 'moderator', 'agent'))
) STRICT;
CREATE INDEX tokens_by_owner ON tokens (owner_id, id);
CREATE INDEX tokens_by_agent ON tokens (agent_id, id) WHERE agent_id IS NOT NULL;
CREATE INDEX tokens_revoked ON tokens (revoked_at) WHERE revoked_at > 0;

-- The tasks of agents that fetch them.
CREATE TABLE pulled_tasks (
    agent_id      TEXT NOT NULL,
    task_id       TEXT NOT NULL,
    id            TEXT NOT NULL,    -- of this dispatch: a task that is dispatched again has another
    match_id      TEXT NOT NULL,
    round         INTEGER NOT NULL,
    attempt       INTEGER NOT NULL, -- of the first delivery
    body          BLOB NOT NULL,    -- of the first delivery
    output_format TEXT NOT NULL,
    deadline      INTEGER NOT NULL, -- as told to the agent
    sent_at       INTEGER NOT NULL,
    expires_at    INTEGER NOT NULL, -- answers count until then
    deliveries    INTEGER NOT NULL,
    fetched_at    INTEGER NOT NULL, -- the last delivery; 0: none, or it failed
    answered_at   INTEGER NOT NULL,
    answer        BLOB,             -- null: none yet
    CONSTRAINT pulled_tasks_pk PRIMARY KEY (agent_id, task_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX pulled_tasks_id ON pulled_tasks (id);
CREATE INDEX pulled_tasks_expiry ON pulled_tasks (expires_at);
CREATE INDEX pulled_tasks_waiting ON pulled_tasks (expires_at, agent_id) WHERE fetched_at = 0 AND answered_at = 0;
CREATE INDEX pulled_tasks_answered ON pulled_tasks (answered_at, id) WHERE answered_at > 0;

-- Until when agents that fetch their tasks count as present.
CREATE TABLE presence (
    agent_id TEXT NOT NULL,
    until    INTEGER NOT NULL,
    CONSTRAINT presence_pk PRIMARY KEY (agent_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE games (
    sha256     TEXT NOT NULL, -- of source, in hex
    name       TEXT NOT NULL,
    version    TEXT NOT NULL,
    title      TEXT NOT NULL,
    source     TEXT NOT NULL, -- at most 256 KiB
    report     TEXT NOT NULL, -- of the check at the upload, JSON
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL, -- the actor of its audit entry
    CONSTRAINT games_pk PRIMARY KEY (sha256),
    CONSTRAINT games_version UNIQUE (name, version)
);
CREATE INDEX games_latest ON games (name, created_at, sha256);

CREATE TABLE game_records (
    league     TEXT NOT NULL,
    agent_id   TEXT NOT NULL,
    turn_order INTEGER NOT NULL, -- 1: it had the first move; 2: another had; 0: several began at once, or the game never began
    ended      TEXT NOT NULL,    -- played_out, default_moves, forfeit
    cause      TEXT NOT NULL,    -- why the agent gave no move; '': it gave all
    games      INTEGER NOT NULL, -- of finished matches that count for the table
    wins       INTEGER NOT NULL,
    draws      INTEGER NOT NULL,
    losses     INTEGER NOT NULL,
    points     INTEGER NOT NULL, -- thousandths
    CONSTRAINT game_records_pk PRIMARY KEY (league, agent_id, turn_order, ended, cause)
) STRICT, WITHOUT ROWID;
CREATE INDEX game_records_by_agent ON game_records (agent_id);

CREATE TABLE erased_owners (
    owner_id TEXT NOT NULL,
    at       INTEGER NOT NULL,
    done_at  INTEGER NOT NULL, -- 0: texts in matches are left
    CONSTRAINT erased_owners_pk PRIMARY KEY (owner_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE tls_files (
    key         TEXT PRIMARY KEY,
    value       BLOB NOT NULL,
    modified_at INTEGER NOT NULL
);

CREATE TABLE tls_locks (
    name       TEXT PRIMARY KEY,
    holder     TEXT NOT NULL, -- By the clock of the database.
    expires_at INTEGER NOT NULL
);

CREATE TABLE sessions (
    id           TEXT NOT NULL,
    owner_id     TEXT NOT NULL,
    hash         BLOB NOT NULL,    -- SHA-256 of the secret
    browser      TEXT NOT NULL,    -- as the person knows it
    admin        INTEGER NOT NULL, -- 1: the issuer named the person an admin
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    CONSTRAINT sessions_pk PRIMARY KEY (id),
    CONSTRAINT sessions_hash UNIQUE (hash),
    CONSTRAINT sessions_owner FOREIGN KEY (owner_id) REFERENCES owners (id)
) STRICT;
CREATE INDEX sessions_by_owner ON sessions (owner_id, id);
CREATE INDEX sessions_by_use ON sessions (last_used_at, id);

CREATE TABLE invitations (
    id           TEXT NOT NULL,
    hash         BLOB NOT NULL, -- SHA-256 of the secret
    role         TEXT NOT NULL,
    role_leagues TEXT NOT NULL,
    name         TEXT NOT NULL,
    email        TEXT NOT NULL,
    uses         INTEGER NOT NULL,
    used         INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    created_by   TEXT NOT NULL,
    expires_at   INTEGER NOT NULL,
    revoked_at   INTEGER NOT NULL,
    CONSTRAINT invitations_pk PRIMARY KEY (id),
    CONSTRAINT invitations_hash UNIQUE (hash)
) STRICT;
CREATE INDEX invitations_by_end ON invitations (expires_at, id);

-- A token of the issuer may outlive the deletion of its owner, and must not make another one.
CREATE TABLE erased_identities (
    digest TEXT NOT NULL, -- of issuer and subject, SHA-256 in hexadecimal
    at     INTEGER NOT NULL,
    CONSTRAINT erased_identities_pk PRIMARY KEY (digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX erased_identities_by_time ON erased_identities (at, digest);

CREATE TABLE outbox (
    id         TEXT NOT NULL,
    kind       TEXT NOT NULL,
    owner_id   TEXT NOT NULL,    -- empty: looked up by the address when it is sent
    agent_id   TEXT NOT NULL,    -- empty: it is about none
    pause      TEXT NOT NULL,    -- reason; empty: it is about none
    address    TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    next_at    INTEGER NOT NULL, -- of the next attempt
    give_up_at INTEGER NOT NULL,
    ended_at   INTEGER NOT NULL, -- 0: it waits
    attempts   INTEGER NOT NULL,
    CONSTRAINT outbox_pk PRIMARY KEY (id)
) STRICT;
CREATE INDEX outbox_due ON outbox (next_at, id) WHERE ended_at = 0;
CREATE INDEX outbox_by_address ON outbox (lower(address), kind, created_at);
CREATE INDEX outbox_by_agent ON outbox (agent_id, created_at) WHERE agent_id <> '';
CREATE INDEX outbox_by_owner ON outbox (owner_id);
CREATE INDEX outbox_by_time ON outbox (created_at, id);

CREATE TABLE mail_links (
    hash       BLOB NOT NULL, -- SHA-256 of the secret
    kind       TEXT NOT NULL,
    owner_id   TEXT NOT NULL,
    address    TEXT NOT NULL, -- it was sent to
    expires_at INTEGER NOT NULL,
    CONSTRAINT mail_links_pk PRIMARY KEY (hash),
    CONSTRAINT mail_links_owner FOREIGN KEY (owner_id) REFERENCES owners (id)
) STRICT;
CREATE INDEX mail_links_by_owner ON mail_links (owner_id, kind);
CREATE INDEX mail_links_by_end ON mail_links (expires_at, hash);

CREATE TABLE rounds (
    match_id      TEXT NOT NULL,
    no            INTEGER NOT NULL, -- 1-based
    task          TEXT NOT NULL,
    opened_at     INTEGER NOT NULL,
    closed_at     INTEGER NOT NULL,
    interruptions INTEGER NOT NULL,
    opened_seq    INTEGER NOT NULL, -- last number of the log before it
    source        TEXT NOT NULL DEFAULT '',
    turn          TEXT NOT NULL DEFAULT '',
    vote_until    INTEGER NOT NULL DEFAULT 0,
    CONSTRAINT rounds_pk PRIMARY KEY (match_id, no),
    CONSTRAINT rounds_match FOREIGN KEY (match_id) REFERENCES matches (id)
) STRICT;

CREATE TABLE verdicts (
    match_id TEXT NOT NULL,
    round    INTEGER NOT NULL,
    no       INTEGER NOT NULL, -- 1: as the round was closed; more: scored again
    judge    TEXT NOT NULL,
    version  TEXT NOT NULL,
    seats    TEXT NOT NULL,    -- [{agent_id, points}]
    ballots  TEXT NOT NULL,    -- of judges that are asked, else ''
    at       INTEGER NOT NULL,
    CONSTRAINT verdicts_pk PRIMARY KEY (match_id, round, no),
    CONSTRAINT verdicts_round FOREIGN KEY (match_id, round) REFERENCES rounds (match_id, no)
) STRICT, WITHOUT ROWID;

CREATE TABLE votes (
    match_id TEXT NOT NULL,
    round    INTEGER NOT NULL,
    voter    BLOB NOT NULL,                                                                             -- SHA-256 of the browser's signed name
    address  BLOB NOT NULL,                                                                             -- SHA-256 of address and match
    choice   TEXT NOT NULL,                                                                             -- agent id; '' a tie
    other    TEXT NOT NULL,                                                                             -- the answer that it was compared with
    at       INTEGER NOT NULL,
    site     BLOB NOT NULL DEFAULT x'0000000000000000000000000000000000000000000000000000000000000000', -- SHA-256 of site and match; zero: it has none
    CONSTRAINT votes_pk PRIMARY KEY (match_id, round, voter),
    CONSTRAINT votes_round FOREIGN KEY (match_id, round) REFERENCES rounds (match_id, no)
) STRICT, WITHOUT ROWID;
CREATE INDEX votes_by_address ON votes (match_id, round, address);
CREATE INDEX votes_by_site ON votes (match_id, round, site);

CREATE TABLE answers (
    match_id    TEXT NOT NULL,
    round       INTEGER NOT NULL,
    agent_id    TEXT NOT NULL,
    outcome     TEXT NOT NULL,
    reason      TEXT NOT NULL,
    body        TEXT,                       -- null unless answered
    elapsed_ns  INTEGER NOT NULL,
    attempts    INTEGER NOT NULL,
    points      INTEGER NOT NULL,
    judged      INTEGER NOT NULL,
    arrived_at  INTEGER NOT NULL DEFAULT 0,
    over_tokens INTEGER NOT NULL DEFAULT 0,
    CONSTRAINT answers_pk PRIMARY KEY (match_id, round, agent_id),
    CONSTRAINT answers_round FOREIGN KEY (match_id, round) REFERENCES rounds (match_id, no)
) STRICT;
CREATE INDEX answers_dodged ON answers (agent_id) WHERE outcome IN ('unavailable', 'rate_limited') AND attempts > 0;

CREATE TABLE events (
    match_id TEXT NOT NULL,
    seq      INTEGER NOT NULL, -- 1, 2, 3 … without gaps
    round    INTEGER NOT NULL,
    agent_id TEXT NOT NULL,    -- '': the match itself
    at       INTEGER NOT NULL,
    type     TEXT NOT NULL,
    body     TEXT NOT NULL,    -- what anyone may read
    hidden   TEXT NOT NULL,    -- what nobody may read before the round closes; '' nothing
    CONSTRAINT events_pk PRIMARY KEY (match_id, seq),
    CONSTRAINT events_match FOREIGN KEY (match_id) REFERENCES matches (id)
) STRICT;

CREATE TABLE ticks (
    job  TEXT NOT NULL,
    tick INTEGER NOT NULL, -- when its last interval began, by the database's clock
    CONSTRAINT ticks_pk PRIMARY KEY (job)
) STRICT, WITHOUT ROWID;

INSERT INTO counters (name, value) VALUES ('settlements', 0);

-- +goose Down

DROP TABLE ticks;
DROP TABLE events;
DROP TABLE answers;
DROP TABLE votes;
DROP TABLE verdicts;
DROP TABLE rounds;
DROP TABLE mail_links;
DROP TABLE outbox;
DROP TABLE erased_identities;
DROP TABLE invitations;
DROP TABLE sessions;
DROP TABLE tls_locks;
DROP TABLE tls_files;
DROP TABLE erased_owners;
DROP TABLE game_records;
DROP TABLE games;
DROP TABLE presence;
DROP TABLE pulled_tasks;
DROP TABLE tokens;
DROP TABLE agora_ways;
DROP TABLE met_groups;
DROP TABLE names;
DROP TABLE erasures;
DROP TABLE outcomes;
DROP TABLE encounters;
DROP TABLE banner;
DROP TABLE nodes;
DROP TABLE conformance;
DROP TABLE identities;
DROP TABLE peers;
DROP TABLE secret_bases;
DROP TABLE conversations;
DROP TABLE own_keys;
DROP TABLE relay_keys;
DROP TABLE envelopes;
DROP TABLE seen;
DROP TABLE mail;
DROP TABLE audit;
DROP TABLE fits;
DROP TABLE pairings;
DROP TABLE entrants;
DROP TABLE seasons;
DROP TABLE event_archives;
DROP TABLE counters;
DROP TABLE rating_changes;
DROP TABLE settlements;
DROP TABLE met;
DROP TABLE ratings;
DROP TABLE deliveries;
DROP TABLE seats;
DROP TABLE matches;
DROP TABLE entries;
DROP TABLE leagues;
DROP TABLE tasks;
DROP TABLE packs;
DROP TABLE uptime;
DROP TABLE agents;
DROP TABLE signing_keys;
DROP TABLE owners;
