-- Agents of protocol aap that fetch their tasks.

-- +goose Up

-- How many matches an agent that fetches its tasks plays at once.
ALTER TABLE agents ADD COLUMN pull_concurrent BIGINT NOT NULL DEFAULT 1;

-- Keys of agents are tokens.
ALTER TABLE tokens ADD COLUMN agent_id TEXT COLLATE "C"; -- null: not the key of an agent
ALTER TABLE tokens ADD CONSTRAINT tokens_agent FOREIGN KEY (agent_id) REFERENCES agents (id);
ALTER TABLE tokens DROP CONSTRAINT tokens_scope;
ALTER TABLE tokens ADD CONSTRAINT tokens_scope CHECK (scope IN ('owner', 'admin', 'organizer', 'moderator', 'agent'));
CREATE INDEX tokens_by_agent ON tokens (agent_id, id) WHERE agent_id IS NOT NULL;

-- What ends a poll that waits: see Store.RevokedSince.
CREATE INDEX tokens_revoked ON tokens (revoked_at) WHERE revoked_at > 0;
CREATE INDEX owners_suspended ON owners (suspended_at) WHERE suspended_at > 0;
CREATE INDEX agents_retired ON agents (retired_at) WHERE retired_at > 0;
CREATE INDEX agents_moved ON agents (endpoint_since) WHERE endpoint_since > 0;

-- The tasks of agents that fetch them.
CREATE TABLE pulled_tasks (
    agent_id      TEXT COLLATE "C" NOT NULL,
    task_id       TEXT COLLATE "C" NOT NULL,
    id            TEXT COLLATE "C" NOT NULL, -- of this dispatch: a task that is dispatched again has another
    match_id      TEXT COLLATE "C" NOT NULL,
    round         BIGINT NOT NULL,
    attempt       BIGINT NOT NULL, -- of the first delivery
    body          BYTEA  NOT NULL, -- of the first delivery
    output_format TEXT COLLATE "C" NOT NULL,
    deadline      BIGINT NOT NULL, -- as told to the agent
    sent_at       BIGINT NOT NULL,
    expires_at    BIGINT NOT NULL, -- answers count until then
    deliveries    BIGINT NOT NULL,
    fetched_at    BIGINT NOT NULL, -- the last delivery; 0: none, or it failed
    answered_at   BIGINT NOT NULL,
    answer        BYTEA,            -- null: none yet
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

-- +goose Down

DROP TABLE presence;
DROP TABLE pulled_tasks;
DROP INDEX agents_moved;
DROP INDEX agents_retired;
DROP INDEX owners_suspended;
DROP INDEX tokens_revoked;
DROP INDEX tokens_by_agent;
DELETE FROM tokens WHERE scope = 'agent';
ALTER TABLE tokens DROP CONSTRAINT tokens_scope;
ALTER TABLE tokens ADD CONSTRAINT tokens_scope CHECK (scope IN ('owner', 'admin', 'organizer', 'moderator'));
ALTER TABLE tokens DROP COLUMN agent_id;
ALTER TABLE agents DROP COLUMN pull_concurrent;
