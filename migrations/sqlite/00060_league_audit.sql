-- +goose Up

-- The report of the newest audit, as JSON; null: never audited.
ALTER TABLE leagues ADD COLUMN audit TEXT NOT NULL DEFAULT 'null';

-- +goose Down

ALTER TABLE leagues DROP COLUMN audit;
