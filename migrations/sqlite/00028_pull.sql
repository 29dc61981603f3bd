-- Agents of protocol aap that fetch their tasks.

-- +goose Up

-- How many matches an agent that fetches its tasks plays at once.
ALTER TABLE agents ADD COLUMN pull_concurrent INTEGER NOT NULL DEFAULT 1;

-- Keys of agents are tokens. A constraint cannot be changed here, so the table
-- is made anew.
CREATE TABLE tokens_28 (
    id           TEXT    NOT NULL,
    owner_id     TEXT,             -- null: an admin's, organizer's or moderator's token
    scope        TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    hash         BLOB    NOT NULL, -- SHA-256 of the secret
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    revoked_at   INTEGER NOT NULL,
    leagues      TEXT    NOT NULL DEFAULT '[]', -- [slug], of an organizer
    expires_at   INTEGER NOT NULL DEFAULT 0,
    configured   INTEGER NOT NULL DEFAULT 0,    -- 1: ARENA_ADMIN_TOKEN holds it, or held it once
    agent_id     TEXT,                          -- null: not the key of an agent
    CONSTRAINT tokens_pk PRIMARY KEY (id),
    CONSTRAINT tokens_hash UNIQUE (hash),
    CONSTRAINT tokens_owner FOREIGN KEY (owner_id) REFERENCES owners (id),
    CONSTRAINT tokens_agent FOREIGN KEY (agent_id) REFERENCES agents (id),
    CONSTRAINT tokens_scope CHECK (scope IN ('owner', 'admin', 'organizer', 'moderator', 'agent'))
) STRICT;
INSERT INTO tokens_28 (id, owner_id, scope, name, hash, created_at, last_used_at, revoked_at, leagues, expires_at, configured)
    SELECT id, owner_id, scope, name, hash, created_at, last_used_at, revoked_at, leagues, expires_at, configured FROM tokens;
DROP TABLE tokens;
ALTER TABLE tokens_28 RENAME TO tokens;
CREATE INDEX tokens_by_owner ON tokens (owner_id, id);
CREATE INDEX tokens_by_agent ON tokens (agent_id, id) WHERE agent_id IS NOT NULL;

-- What ends a poll that waits: see Store.RevokedSince.
CREATE INDEX tokens_revoked ON tokens (revoked_at) WHERE revoked_at > 0;
CREATE INDEX owners_suspended ON owners (suspended_at) WHERE suspended_at > 0;
CREATE INDEX agents_retired ON agents (retired_at) WHERE retired_at > 0;
CREATE INDEX agents_moved ON agents (endpoint_since) WHERE endpoint_since > 0;

-- The tasks of agents that fetch them.
CREATE TABLE pulled_tasks (
    agent_id      TEXT    NOT NULL,
    task_id       TEXT    NOT NULL,
    id            TEXT    NOT NULL, -- of this dispatch: a task that is dispatched again has another
    match_id      TEXT    NOT NULL,
    round         INTEGER NOT NULL,
    attempt       INTEGER NOT NULL, -- of the first delivery
    body          BLOB    NOT NULL, -- of the first delivery
    output_format TEXT    NOT NULL,
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
    agent_id TEXT    NOT NULL,
    until    INTEGER NOT NULL,
    CONSTRAINT presence_pk PRIMARY KEY (agent_id)
) STRICT, WITHOUT ROWID;

-- +goose Down

DROP TABLE presence;
DROP TABLE pulled_tasks;
DROP INDEX agents_moved;
DROP INDEX agents_retired;
DROP INDEX owners_suspended;
CREATE TABLE tokens_28 (
    id           TEXT    NOT NULL,
    owner_id     TEXT,
    scope        TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    hash         BLOB    NOT NULL,
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    revoked_at   INTEGER NOT NULL,
    leagues      TEXT    NOT NULL DEFAULT '[]',
    expires_at   INTEGER NOT NULL DEFAULT 0,
    configured   INTEGER NOT NULL DEFAULT 0,
    CONSTRAINT tokens_pk PRIMARY KEY (id),
    CONSTRAINT tokens_hash UNIQUE (hash),
    CONSTRAINT tokens_owner FOREIGN KEY (owner_id) REFERENCES owners (id),
    CONSTRAINT tokens_scope CHECK (scope IN ('owner', 'admin', 'organizer', 'moderator'))
) STRICT;
INSERT INTO tokens_28 (id, owner_id, scope, name, hash, created_at, last_used_at, revoked_at, leagues, expires_at, configured)
    SELECT id, owner_id, scope, name, hash, created_at, last_used_at, revoked_at, leagues, expires_at, configured FROM tokens WHERE scope <> 'agent';
DROP TABLE tokens;
ALTER TABLE tokens_28 RENAME TO tokens;
CREATE INDEX tokens_by_owner ON tokens (owner_id, id);
ALTER TABLE agents DROP COLUMN pull_concurrent;
