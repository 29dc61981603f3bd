-- Agents that never pass a check of their endpoint expire.

-- +goose Up

-- When the endpoint was last changed (unix ms); 0: never.
ALTER TABLE agents ADD COLUMN endpoint_since INTEGER NOT NULL DEFAULT 0;
-- The time of those that have not passed yet begins now.
UPDATE agents SET endpoint_since = CAST(strftime('%s', 'now') AS INTEGER) * 1000 WHERE passed_at = 0 AND retired_at = 0;

-- +goose Down
ALTER TABLE agents DROP COLUMN endpoint_since;
