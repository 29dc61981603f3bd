-- +goose Up

-- When the league left a pause that its judge had caused; 0: it never did.
ALTER TABLE leagues ADD COLUMN judge_since INTEGER NOT NULL DEFAULT 0;

-- +goose Down

ALTER TABLE leagues DROP COLUMN judge_since;
