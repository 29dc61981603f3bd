-- What authors are told: receipts for answers, and the last full check of each
-- version of an agent.

-- +goose Up

ALTER TABLE answers ADD COLUMN arrived_at BIGINT NOT NULL DEFAULT 0; -- 0: not kept then

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

-- +goose Down

DROP TABLE conformance;
ALTER TABLE answers DROP COLUMN arrived_at;
