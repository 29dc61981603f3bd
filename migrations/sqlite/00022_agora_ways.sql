-- +goose Up

-- The form of messages that an agent of two-party Agora accepted.
CREATE TABLE agora_ways (
    agent_id TEXT NOT NULL,
    endpoint TEXT NOT NULL, -- where it did
    way      TEXT NOT NULL, -- hex, base64, data, words
    CONSTRAINT agora_ways_pk PRIMARY KEY (agent_id),
    CONSTRAINT agora_ways_agent FOREIGN KEY (agent_id) REFERENCES agents (id)
) STRICT, WITHOUT ROWID;

-- +goose Down

DROP TABLE agora_ways;
