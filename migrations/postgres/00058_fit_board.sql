-- +goose Up

-- What the refit says of the table as a whole, as JSON; '': an earlier version fitted it.
ALTER TABLE fits ADD COLUMN board TEXT COLLATE "C" NOT NULL DEFAULT '';

-- +goose Down

ALTER TABLE fits DROP COLUMN board;
