-- +goose Up

-- How much later than it happens spectators see a match, in milliseconds; 0
-- once it is over.
ALTER TABLE matches ADD COLUMN delay INTEGER NOT NULL DEFAULT 0;
-- Few or none: what is counted of an agent leaves them out.
CREATE INDEX matches_delayed ON matches (id) WHERE delay > 0;

-- +goose Down
DROP INDEX matches_delayed;
ALTER TABLE matches DROP COLUMN delay;
