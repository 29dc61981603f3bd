-- +goose Up

-- What agents of AgentProtocol said of themselves in their last hello, and
-- their newest connection.
CREATE TABLE peers (
    agent_id     TEXT COLLATE "C" NOT NULL,
    key_name     TEXT COLLATE "C" NOT NULL,
    capabilities TEXT COLLATE "C" NOT NULL, -- [name]
    hello_at     BIGINT NOT NULL,
    way          TEXT COLLATE "C" NOT NULL,
    epoch        BIGINT NOT NULL, -- grows with each connection
    seen_at      BIGINT NOT NULL, -- 0: the newest connection has ended
    CONSTRAINT peers_pk PRIMARY KEY (agent_id),
    CONSTRAINT peers_agent FOREIGN KEY (agent_id) REFERENCES agents (id)
);
CREATE INDEX peers_key_name ON peers (key_name);

-- +goose Down

DROP TABLE peers;
