-- Owners: why one is suspended, where a token was last used, and which ones were
-- deleted. erased_owners holds no personal data: its list can be kept outside of
-- backups and applied again after a restore.

-- +goose Up
ALTER TABLE owners ADD COLUMN suspend_reason TEXT NOT NULL DEFAULT '';
ALTER TABLE owners ADD COLUMN erased_at INTEGER NOT NULL DEFAULT 0; -- 0: not deleted
ALTER TABLE tokens ADD COLUMN last_used_by TEXT NOT NULL DEFAULT ''; -- network; '': unknown
CREATE TABLE erased_owners (
    owner_id TEXT NOT NULL,
    at       INTEGER NOT NULL,
    done_at  INTEGER NOT NULL, -- 0: texts in matches are left
    CONSTRAINT erased_owners_pk PRIMARY KEY (owner_id)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE erased_owners;
ALTER TABLE tokens DROP COLUMN last_used_by;
ALTER TABLE owners DROP COLUMN erased_at;
ALTER TABLE owners DROP COLUMN suspend_reason;
