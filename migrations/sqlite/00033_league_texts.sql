-- What organizers tell people about a league, its deadline for entries, and
-- leagues and questions that are out of use.

-- +goose Up

ALTER TABLE leagues ADD COLUMN description TEXT NOT NULL DEFAULT '';
ALTER TABLE leagues ADD COLUMN prize TEXT NOT NULL DEFAULT '';
ALTER TABLE leagues ADD COLUMN rules_text TEXT NOT NULL DEFAULT '';
-- When entries close; 0: they do not.
ALTER TABLE leagues ADD COLUMN signup_until INTEGER NOT NULL DEFAULT 0;
-- When the league was archived; 0: it is not.
ALTER TABLE leagues ADD COLUMN archived_at INTEGER NOT NULL DEFAULT 0;
-- Questions that were removed after its matches had used them.
ALTER TABLE leagues ADD COLUMN removed_tasks INTEGER NOT NULL DEFAULT 0;
-- When the question was removed from its pack; 0: it is in use.
ALTER TABLE tasks ADD COLUMN removed_at INTEGER NOT NULL DEFAULT 0;
CREATE INDEX tasks_removed ON tasks (pack_id, n) WHERE removed_at > 0;

-- +goose Down

DROP INDEX tasks_removed;
ALTER TABLE tasks DROP COLUMN removed_at;
ALTER TABLE leagues DROP COLUMN removed_tasks;
ALTER TABLE leagues DROP COLUMN archived_at;
ALTER TABLE leagues DROP COLUMN signup_until;
ALTER TABLE leagues DROP COLUMN rules_text;
ALTER TABLE leagues DROP COLUMN prize;
ALTER TABLE leagues DROP COLUMN description;
