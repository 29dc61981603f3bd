-- +goose Up

-- When an owner proved to hold the agent's key; 0: not yet. Of one protocol,
-- only one agent that is not retired has a key.
ALTER TABLE agents ADD COLUMN key_proved_at BIGINT NOT NULL DEFAULT 0;
CREATE UNIQUE INDEX agents_key ON agents (protocol, public_key) WHERE key_proved_at > 0 AND retired_at = 0;

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

-- +goose Down

DROP TABLE seen;
DROP TABLE mail;
DROP INDEX agents_key;
ALTER TABLE agents DROP COLUMN key_proved_at;
