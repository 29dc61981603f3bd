-- +goose Up

-- Closed rounds that a seat lost by a timeout, and closed rounds that did not
-- count for it because of a 429. Both are 0 in matches that ended under the rules
-- before: their places and ratings stay as they are.
ALTER TABLE seats ADD COLUMN lost_rounds BIGINT NOT NULL DEFAULT 0;
ALTER TABLE seats ADD COLUMN skipped_rounds BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE seats DROP COLUMN skipped_rounds;
ALTER TABLE seats DROP COLUMN lost_rounds;
