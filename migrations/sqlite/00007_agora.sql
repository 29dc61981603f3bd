-- Two-party Agora: conversations that clients opened with the arena, and the
-- secret base URLs of agents.

-- +goose Up

CREATE TABLE conversations (
    key        BLOB    NOT NULL, -- SHA-256 of its id
    agent_id   TEXT    NOT NULL, -- under whose secret base; '' the public one
    address    TEXT    NOT NULL,
    document   TEXT    NOT NULL, -- hash of its Protocol Document, '' none
    state      TEXT    NOT NULL, -- JSON, '' nothing
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    CONSTRAINT conversations_pk PRIMARY KEY (key)
) STRICT, WITHOUT ROWID;
CREATE INDEX conversations_by_address ON conversations (address, expires_at);
CREATE INDEX conversations_expiry ON conversations (expires_at);

CREATE TABLE secret_bases (
    agent_id       TEXT    NOT NULL,
    hash           BLOB    NOT NULL, -- SHA-256 of its secret
    created_at     INTEGER NOT NULL,
    alive_until    INTEGER NOT NULL, -- 0: never polled
    max_concurrent INTEGER NOT NULL,
    CONSTRAINT secret_bases_pk PRIMARY KEY (agent_id),
    CONSTRAINT secret_bases_hash UNIQUE (hash),
    CONSTRAINT secret_bases_agent FOREIGN KEY (agent_id) REFERENCES agents (id)
) STRICT, WITHOUT ROWID;

-- +goose Down

DROP TABLE secret_bases;
DROP TABLE conversations;
