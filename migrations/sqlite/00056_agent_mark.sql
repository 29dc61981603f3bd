-- +goose Up

-- The shape and color of its avatar, as its owner chose them; '': made from its id.
ALTER TABLE agents ADD COLUMN mark TEXT NOT NULL DEFAULT '';
CREATE INDEX agents_marked ON agents (id) WHERE mark <> '';

-- +goose Down

DROP INDEX agents_marked;
ALTER TABLE agents DROP COLUMN mark;
