-- +goose Up

ALTER TABLE owners ADD COLUMN suspended_at INTEGER NOT NULL DEFAULT 0;

-- A constraint cannot be changed here, so the table is made anew.
CREATE TABLE tokens_18 (
    id           TEXT    NOT NULL,
    owner_id     TEXT,             -- null: an admin's, organizer's or moderator's token
    scope        TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    hash         BLOB    NOT NULL, -- SHA-256 of the secret
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    revoked_at   INTEGER NOT NULL,
    leagues      TEXT    NOT NULL DEFAULT '[]', -- [slug], of an organizer
    expires_at   INTEGER NOT NULL DEFAULT 0,
    configured   INTEGER NOT NULL DEFAULT 0,    -- 1: ARENA_ADMIN_TOKEN holds it, or held it once
    CONSTRAINT tokens_pk PRIMARY KEY (id),
    CONSTRAINT tokens_hash UNIQUE (hash),
    CONSTRAINT tokens_owner FOREIGN KEY (owner_id) REFERENCES owners (id),
    CONSTRAINT tokens_scope CHECK (scope IN ('owner', 'admin', 'organizer', 'moderator'))
) STRICT;
INSERT INTO tokens_18 (id, owner_id, scope, name, hash, created_at, last_used_at, revoked_at)
    SELECT id, owner_id, scope, name, hash, created_at, last_used_at, revoked_at FROM tokens;
DROP TABLE tokens;
ALTER TABLE tokens_18 RENAME TO tokens;
CREATE INDEX tokens_by_owner ON tokens (owner_id, id);
UPDATE tokens SET configured = 1 WHERE owner_id IS NULL AND name = 'ARENA_ADMIN_TOKEN';

-- +goose Down
CREATE TABLE tokens_18 (
    id           TEXT    NOT NULL,
    owner_id     TEXT,
    scope        TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    hash         BLOB    NOT NULL,
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    revoked_at   INTEGER NOT NULL,
    CONSTRAINT tokens_pk PRIMARY KEY (id),
    CONSTRAINT tokens_hash UNIQUE (hash),
    CONSTRAINT tokens_owner FOREIGN KEY (owner_id) REFERENCES owners (id),
    CONSTRAINT tokens_scope CHECK (scope IN ('owner', 'admin'))
) STRICT;
INSERT INTO tokens_18 (id, owner_id, scope, name, hash, created_at, last_used_at, revoked_at)
    SELECT id, owner_id, scope, name, hash, created_at, last_used_at, revoked_at FROM tokens WHERE scope IN ('owner', 'admin');
DROP TABLE tokens;
ALTER TABLE tokens_18 RENAME TO tokens;
CREATE INDEX tokens_by_owner ON tokens (owner_id, id);
ALTER TABLE owners DROP COLUMN suspended_at;
