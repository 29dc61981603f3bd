-- +goose Up

-- How many leases of the match ended by themselves. Matches that were running
-- before this column have claims and no count: one per claim after the first.
ALTER TABLE matches ADD COLUMN interruptions INTEGER NOT NULL DEFAULT 0;
UPDATE matches SET interruptions = epoch - 1 WHERE status = 'running' AND epoch > 1;

-- +goose Down
ALTER TABLE matches DROP COLUMN interruptions;
