-- Questions whose text was changed.

-- +goose Up

-- The number of the question with the changed text; 0: it was not changed.
ALTER TABLE tasks ADD COLUMN replaced_by BIGINT NOT NULL DEFAULT 0;
CREATE INDEX tasks_replaced ON tasks (pack_id, n) WHERE replaced_by > 0;

-- +goose Down

DROP INDEX tasks_replaced;
ALTER TABLE tasks DROP COLUMN replaced_by;
