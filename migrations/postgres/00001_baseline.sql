-- The schema of Agora Arena. Times are milliseconds since 1970, UTC; 0: never.
-- Points and ratings are thousandths.
-- Text is compared byte by byte (COLLATE "C"), as SQLite and Go do.

-- +goose Up

CREATE TABLE owners (
    id                 TEXT COLLATE "C" NOT NULL,
    name               TEXT COLLATE "C" NOT NULL,
    email              TEXT COLLATE "C" NOT NULL,
    created_at         BIGINT NOT NULL,
    suspended_at       BIGINT NOT NULL DEFAULT 0,
    network            TEXT COLLATE "C" NOT NULL DEFAULT '',   -- '': unknown, or not public
    suspend_reason     TEXT COLLATE "C" NOT NULL DEFAULT '',
    erased_at          BIGINT NOT NULL DEFAULT 0,              -- 0: not deleted
    role               TEXT COLLATE "C" NOT NULL DEFAULT '',   -- admin, organizer or moderator; empty: none
    role_leagues       TEXT COLLATE "C" NOT NULL DEFAULT '[]', -- [slug], of an organizer
    email_confirmed_at BIGINT NOT NULL DEFAULT 0,              -- 0: not confirmed
    no_pause_mails     BIGINT NOT NULL DEFAULT 0,              -- 1: no mail when the arena pauses an agent
    CONSTRAINT owners_pk PRIMARY KEY (id)
);
CREATE INDEX owners_by_network ON owners (network, id) WHERE network <> '';
CREATE INDEX owners_suspended ON owners (suspended_at) WHERE suspended_at > 0;
CREATE INDEX owners_by_role ON owners (role, id) WHERE role <> '';
CREATE INDEX owners_by_email ON owners (lower(email), id) WHERE email_confirmed_at > 0;

CREATE TABLE signing_keys (
    kid        TEXT COLLATE "C" NOT NULL,
    alg        TEXT COLLATE "C" NOT NULL,
    private    BYTEA NOT NULL, -- PKCS #8
    created_at BIGINT NOT NULL,
    signs_from BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    CONSTRAINT signing_keys_pk PRIMARY KEY (kid)
);

CREATE TABLE agents (
    id                  TEXT COLLATE "C" NOT NULL,
    owner_id            TEXT COLLATE "C" NOT NULL,
    name                TEXT COLLATE "C" NOT NULL,
    name_key            TEXT COLLATE "C" NOT NULL,              -- case-folded
    protocol            TEXT COLLATE "C" NOT NULL,
    endpoint            TEXT COLLATE "C" NOT NULL,
    public_key          TEXT COLLATE "C" NOT NULL,
    version             TEXT COLLATE "C" NOT NULL,
    description         TEXT COLLATE "C" NOT NULL,
    pauses              TEXT COLLATE "C" NOT NULL,              -- [{reason, since, until}]
    paused_until        BIGINT NOT NULL,                        -- latest end of all pauses; largest value: no end
    created_at          BIGINT NOT NULL,
    passed_at           BIGINT NOT NULL,
    retired_at          BIGINT NOT NULL,
    health_ok           BIGINT NOT NULL,
    checked_at          BIGINT NOT NULL,
    latency_ns          BIGINT NOT NULL,
    health_reason       TEXT COLLATE "C" NOT NULL,
    health_detail       TEXT COLLATE "C" NOT NULL,
    capabilities        TEXT COLLATE "C" NOT NULL,              -- [slug]
    declared_latency_ns BIGINT NOT NULL,
    max_concurrent      BIGINT NOT NULL,
    failures            BIGINT NOT NULL,
    successes           BIGINT NOT NULL,
    key_proved_at       BIGINT NOT NULL DEFAULT 0,
    endpoint_key        TEXT COLLATE "C" NOT NULL DEFAULT '',
    endpoint_since      BIGINT NOT NULL DEFAULT 0,
    endpoint_domain     TEXT COLLATE "C" NOT NULL DEFAULT '',   -- '': none, or an address
    pull_concurrent     BIGINT NOT NULL DEFAULT 1,
    pause_after         BIGINT NOT NULL DEFAULT 10,
    resumed_at          BIGINT NOT NULL DEFAULT 0,
    budget              TEXT COLLATE "C" NOT NULL DEFAULT '{}', -- JSON; '{}': no limits
    round_tokens        BIGINT NOT NULL DEFAULT 0,              -- of a rehearsal; 0: unknown
    CONSTRAINT agents_pk PRIMARY KEY (id),
    CONSTRAINT agents_owner FOREIGN KEY (owner_id) REFERENCES owners (id),
    CONSTRAINT agents_max_concurrent CHECK (max_concurrent >= 1)
);
CREATE UNIQUE INDEX agents_owner_name ON agents (owner_id, name_key) WHERE retired_at = 0;
CREATE INDEX agents_by_owner ON agents (owner_id, id);
CREATE UNIQUE INDEX agents_key ON agents (protocol, public_key) WHERE key_proved_at > 0 AND retired_at = 0;
CREATE INDEX agents_by_endpoint_key ON agents (endpoint_key, id) WHERE endpoint_key <> '';
CREATE INDEX agents_by_public_key ON agents (public_key, id) WHERE public_key <> '';
CREATE INDEX agents_by_endpoint_domain ON agents (endpoint_domain, id) WHERE endpoint_domain <> '';
CREATE INDEX agents_retired ON agents (retired_at) WHERE retired_at > 0;
CREATE INDEX agents_moved ON agents (endpoint_since) WHERE endpoint_since > 0;

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
    pack_id     TEXT COLLATE "C" NOT NULL,
    n           BIGINT NOT NULL, -- 0-based
    body        TEXT COLLATE "C" NOT NULL,
    removed_at  BIGINT NOT NULL DEFAULT 0,
    replaced_by BIGINT NOT NULL DEFAULT 0,
    corrected_at BIGINT NOT NULL DEFAULT 0, -- since when played rounds are judged by the answers of replaced_by
    CONSTRAINT tasks_pk PRIMARY KEY (pack_id, n),
    CONSTRAINT tasks_pack FOREIGN KEY (pack_id) REFERENCES packs (id)
);
CREATE INDEX tasks_removed ON tasks (pack_id, n) WHERE removed_at > 0;
CREATE INDEX tasks_replaced ON tasks (pack_id, n) WHERE replaced_by > 0;

CREATE TABLE leagues (
    slug          TEXT COLLATE "C" NOT NULL,
    title         TEXT COLLATE "C" NOT NULL,
    status        TEXT COLLATE "C" NOT NULL,
    settings      TEXT COLLATE "C" NOT NULL,
    entry         TEXT COLLATE "C" NOT NULL,
    schedule      TEXT COLLATE "C" NOT NULL,
    drift         BIGINT NOT NULL, -- sum of ratings - rated agents * 1500000
    created_at    BIGINT NOT NULL,
    next_run_at   BIGINT NOT NULL,
    note          TEXT COLLATE "C" NOT NULL,
    description   TEXT COLLATE "C" NOT NULL DEFAULT '',
    prize         TEXT COLLATE "C" NOT NULL DEFAULT '',
    rules_text    TEXT COLLATE "C" NOT NULL DEFAULT '',
    signup_until  BIGINT NOT NULL DEFAULT 0,
    archived_at   BIGINT NOT NULL DEFAULT 0,
    removed_tasks BIGINT NOT NULL DEFAULT 0,
    corrected_tasks BIGINT NOT NULL DEFAULT 0,
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
    id             TEXT COLLATE "C" NOT NULL,
    league         TEXT COLLATE "C" NOT NULL,
    status         TEXT COLLATE "C" NOT NULL,
    settings       TEXT COLLATE "C" NOT NULL,
    seed           BIGINT NOT NULL,                      -- 64 bits, read as unsigned
    round          BIGINT NOT NULL,
    round_open     BIGINT NOT NULL,
    created_at     BIGINT NOT NULL,
    starts_at      BIGINT NOT NULL,
    started_at     BIGINT NOT NULL,
    finished_at    BIGINT NOT NULL,
    void_code      TEXT COLLATE "C" NOT NULL,
    void_reason    TEXT COLLATE "C" NOT NULL,            -- of the code operator
    seq            BIGINT NOT NULL,                      -- last number of its log
    node           TEXT COLLATE "C" NOT NULL,            -- who holds the lease
    epoch          BIGINT NOT NULL,                      -- grows with each claim
    lease_until    BIGINT NOT NULL,                      -- by the database's clock
    log_state      BIGINT NOT NULL DEFAULT 0,            -- where its log is; 0: events, 1: event_archives, 2: dropped
    interruptions  BIGINT NOT NULL DEFAULT 0,
    delay          BIGINT NOT NULL DEFAULT 0,
    judging        BIGINT NOT NULL DEFAULT 0,
    seed_salt      TEXT COLLATE "C" NOT NULL DEFAULT '',
    unrated_reason TEXT COLLATE "C" NOT NULL DEFAULT '',
    CONSTRAINT matches_pk PRIMARY KEY (id),
    CONSTRAINT matches_league FOREIGN KEY (league) REFERENCES leagues (slug),
    CONSTRAINT matches_status CHECK (status IN ('scheduled', 'ready', 'running', 'finished', 'void', 'cancelled'))
);
CREATE INDEX matches_by_league ON matches (league, id);
CREATE INDEX matches_by_league_status ON matches (league, status, id);
CREATE INDEX matches_by_league_start ON matches (league, starts_at);
CREATE INDEX matches_by_status ON matches (status, id);
CREATE INDEX matches_by_start ON matches (status, starts_at, id);
CREATE INDEX matches_by_log ON matches (log_state, finished_at, id);
CREATE INDEX matches_delayed ON matches (id) WHERE delay > 0;
CREATE INDEX matches_by_time ON matches (starts_at, id);

CREATE TABLE seats (
    match_id        TEXT COLLATE "C" NOT NULL,
    no              BIGINT NOT NULL,                      -- 0-based
    agent_id        TEXT COLLATE "C" NOT NULL,
    pinned          BIGINT NOT NULL,                      -- 1: the next six are the seat's own, else the agent's
    name            TEXT COLLATE "C" NOT NULL,
    owner_id        TEXT COLLATE "C" NOT NULL,
    protocol        TEXT COLLATE "C" NOT NULL,
    endpoint        TEXT COLLATE "C" NOT NULL,
    public_key      TEXT COLLATE "C" NOT NULL,
    version         TEXT COLLATE "C" NOT NULL,
    state           TEXT COLLATE "C" NOT NULL,
    playing         BIGINT NOT NULL,                      -- 1: active, and the match is running
    out_round       BIGINT NOT NULL,
    points          BIGINT NOT NULL,
    place           BIGINT NOT NULL,
    outcome         TEXT COLLATE "C" NOT NULL,
    rate_limits     BIGINT NOT NULL,
    rating_before   BIGINT NOT NULL,
    rating_delta    BIGINT,                               -- null: not rated
    salt            TEXT COLLATE "C" NOT NULL DEFAULT '', -- secret; '': erased
    lost_rounds     BIGINT NOT NULL DEFAULT 0,
    skipped_rounds  BIGINT NOT NULL DEFAULT 0,
    owner_group     TEXT COLLATE "C" NOT NULL DEFAULT '',
    tokens          BIGINT NOT NULL DEFAULT 0,            -- of the answers in closed rounds
    reserved_tokens BIGINT NOT NULL DEFAULT 0,            -- what the match was estimated to cost an agent with a budget when it was created
    ended_at        BIGINT NOT NULL DEFAULT 0,            -- of its match, if it was started; 0: it is not over
    CONSTRAINT seats_pk PRIMARY KEY (match_id, no),
    CONSTRAINT seats_once UNIQUE (match_id, agent_id),
    CONSTRAINT seats_match FOREIGN KEY (match_id) REFERENCES matches (id),
    CONSTRAINT seats_agent FOREIGN KEY (agent_id) REFERENCES agents (id),
    CONSTRAINT seats_state CHECK (state IN ('active', 'out', 'left'))
);
CREATE INDEX seats_by_agent ON seats (agent_id, match_id);
CREATE INDEX seats_playing ON seats (agent_id) WHERE playing = 1;
CREATE INDEX seats_ended ON seats (agent_id, ended_at, tokens) WHERE ended_at > 0;

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

CREATE TABLE ratings (
    league          TEXT COLLATE "C" NOT NULL,
    agent_id        TEXT COLLATE "C" NOT NULL,
    melo            BIGINT NOT NULL,
    matches         BIGINT NOT NULL,
    peak            BIGINT NOT NULL,
    new_version     BIGINT NOT NULL,
    wins            BIGINT NOT NULL,
    draws           BIGINT NOT NULL,
    losses          BIGINT NOT NULL,
    opponents       BIGINT NOT NULL,           -- how many rows of met name it
    recent          TEXT COLLATE "C" NOT NULL, -- its last 20 ratings, oldest first
    last_rated_at   BIGINT NOT NULL,
    opponent_groups BIGINT NOT NULL DEFAULT 0,
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

CREATE TABLE event_archives (
    match_id    TEXT COLLATE "C" NOT NULL,
    first_seq   BIGINT NOT NULL,
    last_seq    BIGINT NOT NULL,
    count       BIGINT NOT NULL,
    bytes       BIGINT NOT NULL, -- before it was compressed
    archived_at BIGINT NOT NULL,
    data        BYTEA NOT NULL,  -- the events without hidden parts, zstd
    CONSTRAINT event_archives_pk PRIMARY KEY (match_id, first_seq),
    CONSTRAINT event_archives_match FOREIGN KEY (match_id) REFERENCES matches (id)
);

CREATE TABLE seasons (
    id          TEXT COLLATE "C" NOT NULL,
    league      TEXT COLLATE "C" NOT NULL,
    no          BIGINT NOT NULL,           -- 1, 2, 3 … within the league
    status      TEXT COLLATE "C" NOT NULL,
    format      TEXT COLLATE "C" NOT NULL,
    options     TEXT COLLATE "C" NOT NULL,
    seed        BIGINT NOT NULL,           -- 64 bits, read as unsigned
    version     BIGINT NOT NULL,           -- grows with each change
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
    round      BIGINT NOT NULL,           -- 1-based, like slot and game
    slot       BIGINT NOT NULL,
    game       BIGINT NOT NULL,
    bracket    TEXT COLLATE "C" NOT NULL,
    agents     TEXT COLLATE "C" NOT NULL, -- [id]
    result     TEXT COLLATE "C" NOT NULL, -- '' while it is open
    scores     TEXT COLLATE "C" NOT NULL, -- one per agent, '' none
    match_id   TEXT COLLATE "C",          -- chosen before the match is made
    created_at BIGINT NOT NULL,
    decided_at BIGINT NOT NULL,
    CONSTRAINT pairings_pk PRIMARY KEY (season_id, round, slot, game),
    CONSTRAINT pairings_match UNIQUE (match_id),
    CONSTRAINT pairings_season FOREIGN KEY (season_id) REFERENCES seasons (id)
);

CREATE TABLE fits (
    league     TEXT COLLATE "C" NOT NULL,
    settlement BIGINT NOT NULL,           -- the last one that is in it
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
CREATE INDEX audit_by_actor ON audit (actor, id);
CREATE INDEX audit_by_action ON audit (action, id);
CREATE INDEX audit_by_target ON audit (target, id);

-- Messages that wait for whoever asks for them: agents that only poll, and
-- nodes whose answer came in at another.
CREATE TABLE mail (
    box        TEXT COLLATE "C" NOT NULL,
    n          BIGINT NOT NULL, -- 1, 2, 3 … in its box
    id         TEXT COLLATE "C" NOT NULL,
    body       BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    CONSTRAINT mail_pk PRIMARY KEY (box, n)
);
CREATE UNIQUE INDEX mail_id ON mail (box, id);
CREATE INDEX mail_expiry ON mail (expires_at);

-- What was seen before and must not count twice.
CREATE TABLE seen (
    scope      TEXT COLLATE "C" NOT NULL,
    id         TEXT COLLATE "C" NOT NULL,
    digest     BYTEA NOT NULL,
    expires_at BIGINT NOT NULL,
    CONSTRAINT seen_pk PRIMARY KEY (scope, id)
);
CREATE INDEX seen_expiry ON seen (expires_at);

CREATE TABLE envelopes (
    no          BIGINT NOT NULL,                      -- order of arrival
    seq         BIGINT NOT NULL,                      -- order of becoming visible; 0: sealed
    id          TEXT COLLATE "C" NOT NULL,
    sender      TEXT COLLATE "C" NOT NULL,
    recipient   TEXT COLLATE "C" NOT NULL,            -- '' everyone
    type        TEXT COLLATE "C" NOT NULL,
    thread      TEXT COLLATE "C" NOT NULL,
    request_id  TEXT COLLATE "C" NOT NULL,
    ts          BIGINT NOT NULL,                      -- the sender's clock
    received_at BIGINT NOT NULL,
    shown_at    BIGINT NOT NULL,                      -- grows with seq; 0: sealed
    expires_at  BIGINT NOT NULL,
    digest      BYTEA NOT NULL,                       -- SHA-256 of the signed text
    body        BYTEA NOT NULL,                       -- as received
    match_id    TEXT COLLATE "C" NOT NULL,            -- '' not a task of the arena
    round       BIGINT NOT NULL,
    agent_id    TEXT COLLATE "C" NOT NULL,
    owner_id    TEXT COLLATE "C" NOT NULL DEFAULT '', -- of the sender; '': the arena
    size        BIGINT NOT NULL DEFAULT 0,            -- bytes of the body
    CONSTRAINT envelopes_pk PRIMARY KEY (no),
    CONSTRAINT envelopes_id UNIQUE (sender, id)
);
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
    key         TEXT COLLATE "C" NOT NULL, -- did:key
    polled_at   BIGINT NOT NULL,           -- 0: never
    manifest    BYTEA NOT NULL,            -- JSON, empty: none
    manifest_at BIGINT NOT NULL,
    CONSTRAINT relay_keys_pk PRIMARY KEY (key)
);

CREATE TABLE own_keys (
    name    TEXT COLLATE "C" NOT NULL,
    private BYTEA NOT NULL, -- PKCS #8
    CONSTRAINT own_keys_pk PRIMARY KEY (name)
);

CREATE TABLE conversations (
    key        BYTEA NOT NULL,                       -- SHA-256 of its id
    agent_id   TEXT COLLATE "C" NOT NULL,            -- under whose secret base; '' the public one
    address    TEXT COLLATE "C" NOT NULL,
    document   TEXT COLLATE "C" NOT NULL,            -- hash of its Protocol Document, '' none
    state      TEXT COLLATE "C" NOT NULL,            -- JSON, '' nothing
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    site       TEXT COLLATE "C" NOT NULL DEFAULT '', -- '': none
    CONSTRAINT conversations_pk PRIMARY KEY (key)
);
CREATE INDEX conversations_by_address ON conversations (address, expires_at);
CREATE INDEX conversations_expiry ON conversations (expires_at);
CREATE INDEX conversations_by_site ON conversations (site, expires_at) WHERE site <> '';

CREATE TABLE secret_bases (
    agent_id       TEXT COLLATE "C" NOT NULL,
    hash           BYTEA NOT NULL,  -- SHA-256 of its secret
    created_at     BIGINT NOT NULL,
    alive_until    BIGINT NOT NULL, -- 0: never polled
    max_concurrent BIGINT NOT NULL,
    CONSTRAINT secret_bases_pk PRIMARY KEY (agent_id),
    CONSTRAINT secret_bases_hash UNIQUE (hash),
    CONSTRAINT secret_bases_agent FOREIGN KEY (agent_id) REFERENCES agents (id)
);

-- What agents of AgentProtocol said of themselves in their last hello, and
-- their newest connection.
CREATE TABLE peers (
    agent_id     TEXT COLLATE "C" NOT NULL,
    key_name     TEXT COLLATE "C" NOT NULL,
    capabilities TEXT COLLATE "C" NOT NULL, -- [name]
    hello_at     BIGINT NOT NULL,
    way          TEXT COLLATE "C" NOT NULL,
    epoch        BIGINT NOT NULL,           -- grows with each connection
    seen_at      BIGINT NOT NULL,           -- 0: the newest connection has ended
    CONSTRAINT peers_pk PRIMARY KEY (agent_id),
    CONSTRAINT peers_agent FOREIGN KEY (agent_id) REFERENCES agents (id)
);
CREATE INDEX peers_key_name ON peers (key_name);

CREATE TABLE identities (
    issuer     TEXT COLLATE "C" NOT NULL,
    subject    TEXT COLLATE "C" NOT NULL,
    owner_id   TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    CONSTRAINT identities_pk PRIMARY KEY (issuer, subject),
    CONSTRAINT identities_owner FOREIGN KEY (owner_id) REFERENCES owners (id)
);

CREATE TABLE conformance (
    agent_id     TEXT COLLATE "C" NOT NULL,
    version      TEXT COLLATE "C" NOT NULL, -- of the agent, as its owner calls it
    checked_at   BIGINT NOT NULL,
    passed       BIGINT NOT NULL,
    must_pass    BIGINT NOT NULL,
    must_total   BIGINT NOT NULL,
    should_pass  BIGINT NOT NULL,
    should_total BIGINT NOT NULL,
    report       TEXT COLLATE "C" NOT NULL, -- JSON
    CONSTRAINT conformance_pk PRIMARY KEY (agent_id, version),
    CONSTRAINT conformance_agent FOREIGN KEY (agent_id) REFERENCES agents (id)
);
CREATE INDEX conformance_latest ON conformance (agent_id, checked_at);

CREATE TABLE nodes (
    node          TEXT COLLATE "C" NOT NULL,
    version       TEXT COLLATE "C" NOT NULL,
    started_at    BIGINT NOT NULL,
    seen_at       BIGINT NOT NULL,           -- its last sign of life, by the database's clock
    draining      BIGINT NOT NULL,
    last_error    TEXT COLLATE "C" NOT NULL, -- '' none
    last_error_at BIGINT NOT NULL,
    CONSTRAINT nodes_pk PRIMARY KEY (node)
);

CREATE TABLE banner (
    one   BIGINT NOT NULL, -- there is one for the whole arena
    text  TEXT COLLATE "C" NOT NULL,
    since BIGINT NOT NULL,
    CONSTRAINT banner_pk PRIMARY KEY (one),
    CONSTRAINT banner_one CHECK (one = 1)
);

CREATE TABLE encounters (
    a      TEXT COLLATE "C" NOT NULL, -- a < b
    b      TEXT COLLATE "C" NOT NULL,
    a_wins BIGINT NOT NULL,           -- finished matches, rated or not, that neither left and a ended in the better place
    draws  BIGINT NOT NULL,
    b_wins BIGINT NOT NULL,
    CONSTRAINT encounters_pk PRIMARY KEY (a, b),
    CONSTRAINT encounters_order CHECK (a < b)
);
CREATE INDEX encounters_by_b ON encounters (b);

CREATE TABLE outcomes (
    agent_id TEXT COLLATE "C" NOT NULL,
    outcome  TEXT COLLATE "C" NOT NULL,
    rounds   BIGINT NOT NULL, -- of matches that are over, finished or void
    CONSTRAINT outcomes_pk PRIMARY KEY (agent_id, outcome)
);

CREATE TABLE erasures (
    match_id    TEXT COLLATE "C" NOT NULL,
    commitments TEXT COLLATE "C" NOT NULL, -- to all erased texts, by pointer into the record; JSON
    CONSTRAINT erasures_pk PRIMARY KEY (match_id),
    CONSTRAINT erasures_match FOREIGN KEY (match_id) REFERENCES matches (id)
);

-- The forms of the names of agents that are not retired and of owners that are not
-- deleted: no two of a kind look alike.
CREATE TABLE names (
    key    TEXT NOT NULL, -- begins with the kind
    holder TEXT NOT NULL, -- id of an agent or owner
    CONSTRAINT names_pk PRIMARY KEY (key)
);
CREATE INDEX names_by_holder ON names (holder);

-- The first groups of owners that an agent has met in rated matches of a league.
CREATE TABLE met_groups (
    league      TEXT COLLATE "C" NOT NULL,
    agent_id    TEXT COLLATE "C" NOT NULL,
    owner_group TEXT COLLATE "C" NOT NULL,
    CONSTRAINT met_groups_pk PRIMARY KEY (league, agent_id, owner_group)
);

-- The form of messages that an agent of two-party Agora accepted.
CREATE TABLE agora_ways (
    agent_id TEXT COLLATE "C" NOT NULL,
    endpoint TEXT COLLATE "C" NOT NULL, -- where it did
    way      TEXT COLLATE "C" NOT NULL, -- hex, base64, data, words
    CONSTRAINT agora_ways_pk PRIMARY KEY (agent_id),
    CONSTRAINT agora_ways_agent FOREIGN KEY (agent_id) REFERENCES agents (id)
);

-- Keys of agents are tokens. A constraint cannot be changed here, so the table
-- is made anew.
CREATE TABLE tokens (
    id           TEXT COLLATE "C" NOT NULL,
    owner_id     TEXT COLLATE "C",                       -- null: an admin's, organizer's or moderator's token
    scope        TEXT COLLATE "C" NOT NULL,
    name         TEXT COLLATE "C" NOT NULL,
    hash         BYTEA NOT NULL,                         -- SHA-256 of the secret
    created_at   BIGINT NOT NULL,
    last_used_at BIGINT NOT NULL,
    revoked_at   BIGINT NOT NULL,
    leagues      TEXT COLLATE "C" NOT NULL DEFAULT '[]', -- [slug], of an organizer
    expires_at   BIGINT NOT NULL DEFAULT 0,
    configured   BIGINT NOT NULL DEFAULT 0,              -- 1: ARENA_ADMIN_TOKEN holds it, or held it once
    agent_id     TEXT COLLATE "C",                       -- null: not the key of an agent
    last_used_by TEXT COLLATE "C" NOT NULL DEFAULT '',   -- network; '': unknown
    CONSTRAINT tokens_pk PRIMARY KEY (id),
    CONSTRAINT tokens_hash UNIQUE (hash),
    CONSTRAINT tokens_owner FOREIGN KEY (owner_id) REFERENCES owners (id),
    CONSTRAINT tokens_agent FOREIGN KEY (agent_id) REFERENCES agents (id),
    CONSTRAINT tokens_scope CHECK (scope IN ('owner', 'admin', 'organizer', 'moderator', 'agent'))
);
CREATE INDEX tokens_by_owner ON tokens (owner_id, id);
CREATE INDEX tokens_by_agent ON tokens (agent_id, id) WHERE agent_id IS NOT NULL;
CREATE INDEX tokens_revoked ON tokens (revoked_at) WHERE revoked_at > 0;

-- The tasks of agents that fetch them.
CREATE TABLE pulled_tasks (
    agent_id      TEXT COLLATE "C" NOT NULL,
    task_id       TEXT COLLATE "C" NOT NULL,
    id            TEXT COLLATE "C" NOT NULL, -- of this dispatch: a task that is dispatched again has another
    match_id      TEXT COLLATE "C" NOT NULL,
    round         BIGINT NOT NULL,
    attempt       BIGINT NOT NULL,           -- of the first delivery
    body          BYTEA NOT NULL,            -- of the first delivery
    output_format TEXT COLLATE "C" NOT NULL,
    deadline      BIGINT NOT NULL,           -- as told to the agent
    sent_at       BIGINT NOT NULL,
    expires_at    BIGINT NOT NULL,           -- answers count until then
    deliveries    BIGINT NOT NULL,
    fetched_at    BIGINT NOT NULL,           -- the last delivery; 0: none, or it failed
    answered_at   BIGINT NOT NULL,
    answer        BYTEA,                     -- null: none yet
    CONSTRAINT pulled_tasks_pk PRIMARY KEY (agent_id, task_id)
);
CREATE UNIQUE INDEX pulled_tasks_id ON pulled_tasks (id);
CREATE INDEX pulled_tasks_expiry ON pulled_tasks (expires_at);
CREATE INDEX pulled_tasks_waiting ON pulled_tasks (expires_at, agent_id) WHERE fetched_at = 0 AND answered_at = 0;
CREATE INDEX pulled_tasks_answered ON pulled_tasks (answered_at, id) WHERE answered_at > 0;

-- Until when agents that fetch their tasks count as present.
CREATE TABLE presence (
    agent_id TEXT COLLATE "C" NOT NULL,
    until    BIGINT NOT NULL,
    CONSTRAINT presence_pk PRIMARY KEY (agent_id)
);

CREATE TABLE games (
    sha256     TEXT COLLATE "C" NOT NULL, -- of source, in hex
    name       TEXT COLLATE "C" NOT NULL,
    version    TEXT COLLATE "C" NOT NULL,
    title      TEXT COLLATE "C" NOT NULL,
    source     TEXT COLLATE "C" NOT NULL, -- at most 256 KiB
    report     TEXT COLLATE "C" NOT NULL, -- of the check at the upload, JSON
    created_at BIGINT NOT NULL,
    created_by TEXT COLLATE "C" NOT NULL, -- the actor of its audit entry
    CONSTRAINT games_pk PRIMARY KEY (sha256),
    CONSTRAINT games_version UNIQUE (name, version)
);
CREATE INDEX games_latest ON games (name, created_at, sha256);

CREATE TABLE game_records (
    league     TEXT COLLATE "C" NOT NULL,
    agent_id   TEXT COLLATE "C" NOT NULL,
    turn_order BIGINT NOT NULL,           -- 1: it had the first move; 2: another had; 0: several began at once, or the game never began
    ended      TEXT COLLATE "C" NOT NULL, -- played_out, default_moves, forfeit
    cause      TEXT COLLATE "C" NOT NULL, -- why the agent gave no move; '': it gave all
    games      BIGINT NOT NULL,           -- of finished matches that count for the table
    wins       BIGINT NOT NULL,
    draws      BIGINT NOT NULL,
    losses     BIGINT NOT NULL,
    points     BIGINT NOT NULL,           -- thousandths
    CONSTRAINT game_records_pk PRIMARY KEY (league, agent_id, turn_order, ended, cause)
);
CREATE INDEX game_records_by_agent ON game_records (agent_id);

CREATE TABLE erased_owners (
    owner_id TEXT COLLATE "C" NOT NULL,
    at       BIGINT NOT NULL,
    done_at  BIGINT NOT NULL, -- 0: texts in matches are left
    CONSTRAINT erased_owners_pk PRIMARY KEY (owner_id)
);

CREATE TABLE tls_files (
    key         TEXT COLLATE "C" PRIMARY KEY,
    value       BYTEA NOT NULL,
    modified_at BIGINT NOT NULL
);

CREATE TABLE tls_locks (
    name       TEXT COLLATE "C" PRIMARY KEY,
    holder     TEXT COLLATE "C" NOT NULL, -- By the clock of the database.
    expires_at BIGINT NOT NULL
);

CREATE TABLE sessions (
    id           TEXT COLLATE "C" NOT NULL,
    owner_id     TEXT COLLATE "C" NOT NULL,
    hash         BYTEA NOT NULL,            -- SHA-256 of the secret
    browser      TEXT COLLATE "C" NOT NULL, -- as the person knows it
    admin        BIGINT NOT NULL,           -- 1: the issuer named the person an admin
    created_at   BIGINT NOT NULL,
    last_used_at BIGINT NOT NULL,
    CONSTRAINT sessions_pk PRIMARY KEY (id),
    CONSTRAINT sessions_hash UNIQUE (hash),
    CONSTRAINT sessions_owner FOREIGN KEY (owner_id) REFERENCES owners (id)
);
CREATE INDEX sessions_by_owner ON sessions (owner_id, id);
CREATE INDEX sessions_by_use ON sessions (last_used_at, id);

CREATE TABLE invitations (
    id           TEXT COLLATE "C" NOT NULL,
    hash         BYTEA NOT NULL, -- SHA-256 of the secret
    role         TEXT COLLATE "C" NOT NULL,
    role_leagues TEXT COLLATE "C" NOT NULL,
    name         TEXT COLLATE "C" NOT NULL,
    email        TEXT COLLATE "C" NOT NULL,
    uses         BIGINT NOT NULL,
    used         BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    created_by   TEXT COLLATE "C" NOT NULL,
    expires_at   BIGINT NOT NULL,
    revoked_at   BIGINT NOT NULL,
    CONSTRAINT invitations_pk PRIMARY KEY (id),
    CONSTRAINT invitations_hash UNIQUE (hash)
);
CREATE INDEX invitations_by_end ON invitations (expires_at, id);

-- A token of the issuer may outlive the deletion of its owner, and must not make another one.
CREATE TABLE erased_identities (
    digest TEXT COLLATE "C" NOT NULL, -- of issuer and subject, SHA-256 in hexadecimal
    at     BIGINT NOT NULL,
    CONSTRAINT erased_identities_pk PRIMARY KEY (digest)
);
CREATE INDEX erased_identities_by_time ON erased_identities (at, digest);

CREATE TABLE outbox (
    id         TEXT COLLATE "C" NOT NULL,
    kind       TEXT COLLATE "C" NOT NULL,
    owner_id   TEXT COLLATE "C" NOT NULL, -- empty: looked up by the address when it is sent
    agent_id   TEXT COLLATE "C" NOT NULL, -- empty: it is about none
    pause      TEXT COLLATE "C" NOT NULL, -- reason; empty: it is about none
    address    TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    next_at    BIGINT NOT NULL,           -- of the next attempt
    give_up_at BIGINT NOT NULL,
    ended_at   BIGINT NOT NULL,           -- 0: it waits
    attempts   BIGINT NOT NULL,
    CONSTRAINT outbox_pk PRIMARY KEY (id)
);
CREATE INDEX outbox_due ON outbox (next_at, id) WHERE ended_at = 0;
CREATE INDEX outbox_by_address ON outbox (lower(address), kind, created_at);
CREATE INDEX outbox_by_agent ON outbox (agent_id, created_at) WHERE agent_id <> '';
CREATE INDEX outbox_by_owner ON outbox (owner_id);
CREATE INDEX outbox_by_time ON outbox (created_at, id);

CREATE TABLE mail_links (
    hash       BYTEA NOT NULL,            -- SHA-256 of the secret
    kind       TEXT COLLATE "C" NOT NULL,
    owner_id   TEXT COLLATE "C" NOT NULL,
    address    TEXT COLLATE "C" NOT NULL, -- it was sent to
    expires_at BIGINT NOT NULL,
    CONSTRAINT mail_links_pk PRIMARY KEY (hash),
    CONSTRAINT mail_links_owner FOREIGN KEY (owner_id) REFERENCES owners (id)
);
CREATE INDEX mail_links_by_owner ON mail_links (owner_id, kind);
CREATE INDEX mail_links_by_end ON mail_links (expires_at, hash);

CREATE TABLE rounds (
    match_id      TEXT COLLATE "C" NOT NULL,
    no            BIGINT NOT NULL, -- 1-based
    task          TEXT COLLATE "C" NOT NULL,
    opened_at     BIGINT NOT NULL,
    closed_at     BIGINT NOT NULL,
    interruptions BIGINT NOT NULL,
    opened_seq    BIGINT NOT NULL, -- last number of the log before it
    source        TEXT COLLATE "C" NOT NULL DEFAULT '',
    turn          TEXT COLLATE "C" NOT NULL DEFAULT '',
    vote_until    BIGINT NOT NULL DEFAULT 0,
    CONSTRAINT rounds_pk PRIMARY KEY (match_id, no),
    CONSTRAINT rounds_match FOREIGN KEY (match_id) REFERENCES matches (id)
);

CREATE TABLE verdicts (
    match_id TEXT COLLATE "C" NOT NULL,
    round    BIGINT NOT NULL,
    no       BIGINT NOT NULL,           -- 1: as the round was closed; more: scored again
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
    voter    BYTEA NOT NULL,                                                                              -- SHA-256 of the browser's signed name
    address  BYTEA NOT NULL,                                                                              -- SHA-256 of address and match
    choice   TEXT COLLATE "C" NOT NULL,                                                                   -- agent id; '' a tie
    other    TEXT COLLATE "C" NOT NULL,                                                                   -- the answer that it was compared with
    at       BIGINT NOT NULL,
    site     BYTEA NOT NULL DEFAULT '\x0000000000000000000000000000000000000000000000000000000000000000', -- SHA-256 of site and match; zero: it has none
    CONSTRAINT votes_pk PRIMARY KEY (match_id, round, voter),
    CONSTRAINT votes_round FOREIGN KEY (match_id, round) REFERENCES rounds (match_id, no)
);
CREATE INDEX votes_by_address ON votes (match_id, round, address);
CREATE INDEX votes_by_site ON votes (match_id, round, site);

CREATE TABLE answers (
    match_id    TEXT COLLATE "C" NOT NULL,
    round       BIGINT NOT NULL,
    agent_id    TEXT COLLATE "C" NOT NULL,
    outcome     TEXT COLLATE "C" NOT NULL,
    reason      TEXT COLLATE "C" NOT NULL,
    body        TEXT COLLATE "C",          -- null unless answered
    elapsed_ns  BIGINT NOT NULL,
    attempts    BIGINT NOT NULL,
    points      BIGINT NOT NULL,
    judged      BIGINT NOT NULL,
    arrived_at  BIGINT NOT NULL DEFAULT 0,
    over_tokens BIGINT NOT NULL DEFAULT 0,
    CONSTRAINT answers_pk PRIMARY KEY (match_id, round, agent_id),
    CONSTRAINT answers_round FOREIGN KEY (match_id, round) REFERENCES rounds (match_id, no)
);
CREATE INDEX answers_dodged ON answers (agent_id) WHERE outcome IN ('unavailable', 'rate_limited') AND attempts > 0;

CREATE TABLE events (
    match_id TEXT COLLATE "C" NOT NULL,
    seq      BIGINT NOT NULL,           -- 1, 2, 3 … without gaps
    round    BIGINT NOT NULL,
    agent_id TEXT COLLATE "C" NOT NULL, -- '': the match itself
    at       BIGINT NOT NULL,
    type     TEXT COLLATE "C" NOT NULL,
    body     TEXT COLLATE "C" NOT NULL, -- what anyone may read
    hidden   TEXT COLLATE "C" NOT NULL, -- what nobody may read before the round closes; '' nothing
    CONSTRAINT events_pk PRIMARY KEY (match_id, seq),
    CONSTRAINT events_match FOREIGN KEY (match_id) REFERENCES matches (id)
);

CREATE TABLE ticks (
    job  TEXT COLLATE "C" NOT NULL,
    tick BIGINT NOT NULL, -- when its last interval began, by the database's clock
    CONSTRAINT ticks_pk PRIMARY KEY (job)
);

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
