-- +goose Up

-- What agents of AgentProtocol said of themselves in their last hello, and
-- their newest connection.
CREATE TABLE peers (
    agent_id     TEXT    NOT NULL,
    key_name     TEXT    NOT NULL,
    capabilities TEXT    NOT NULL, -- [name]
    hello_at     INTEGER NOT NULL,
    way          TEXT    NOT NULL,
    epoch        INTEGER NOT NULL, -- grows with each connection
    seen_at      INTEGER NOT NULL, -- 0: the newest connection has ended
    CONSTRAINT peers_pk PRIMARY KEY (agent_id),
    CONSTRAINT peers_agent FOREIGN KEY (agent_id) REFERENCES agents (id)
) STRICT, WITHOUT ROWID;
CREATE INDEX peers_key_name ON peers (key_name);

-- +goose Down

DROP TABLE peers;
