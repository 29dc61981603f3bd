-- Agents that fail round after round pause themselves.

-- +goose Up

-- Failed rounds in a row that pause the agent; 0: none do.
ALTER TABLE agents ADD COLUMN pause_after INTEGER NOT NULL DEFAULT 10;
-- When the last such pause was ended by hand.
ALTER TABLE agents ADD COLUMN resumed_at INTEGER NOT NULL DEFAULT 0;

-- +goose Down

ALTER TABLE agents DROP COLUMN resumed_at;
ALTER TABLE agents DROP COLUMN pause_after;
