-- What authors are told: receipts for answers, and the last full check of each
-- version of an agent.

-- +goose Up

ALTER TABLE answers ADD COLUMN arrived_at INTEGER NOT NULL DEFAULT 0; -- 0: not kept then

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

-- +goose Down

DROP TABLE conformance;
ALTER TABLE answers DROP COLUMN arrived_at;
