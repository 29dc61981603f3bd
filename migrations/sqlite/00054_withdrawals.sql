-- +goose Up

-- How its owner withdrew an agent between pairing and start; '': it was not.
ALTER TABLE seats ADD COLUMN withdrawal TEXT NOT NULL DEFAULT '';
CREATE INDEX seats_withdrawn ON seats (agent_id) WHERE withdrawal <> '';

-- +goose Down

DROP INDEX seats_withdrawn;
ALTER TABLE seats DROP COLUMN withdrawal;
