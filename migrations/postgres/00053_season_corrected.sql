-- +goose Up

-- When the answer of a question that a finished season had used was last corrected.
ALTER TABLE seasons ADD COLUMN corrected_at BIGINT NOT NULL DEFAULT 0;

-- +goose Down

ALTER TABLE seasons DROP COLUMN corrected_at;
