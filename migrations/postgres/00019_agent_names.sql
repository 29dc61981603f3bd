-- +goose Up

-- The forms of the names of agents that are not retired: no two look alike.
-- Agents that shared a name before this table have no row but the first of them.
CREATE TABLE agent_names (
    key      TEXT COLLATE "C" NOT NULL,
    agent_id TEXT COLLATE "C" NOT NULL,
    CONSTRAINT agent_names_pk PRIMARY KEY (key),
    CONSTRAINT agent_names_agent FOREIGN KEY (agent_id) REFERENCES agents (id)
);
CREATE INDEX agent_names_by_agent ON agent_names (agent_id);

-- +goose Down
DROP TABLE agent_names;
