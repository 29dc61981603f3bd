-- +goose Up

-- The language model or framework that answers, as its owner declares it; '': none.
ALTER TABLE agents ADD COLUMN model TEXT COLLATE "C" NOT NULL DEFAULT '';

-- +goose Down

ALTER TABLE agents DROP COLUMN model;
