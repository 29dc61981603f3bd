-- People have roles, sign in with a browser, and are invited by links.

-- +goose Up

ALTER TABLE owners ADD COLUMN role TEXT NOT NULL DEFAULT '';           -- admin, organizer or moderator; empty: none
ALTER TABLE owners ADD COLUMN role_leagues TEXT NOT NULL DEFAULT '[]'; -- [slug], of an organizer
CREATE INDEX owners_by_role ON owners (role, id) WHERE role <> '';

CREATE TABLE sessions (
    id           TEXT    NOT NULL,
    owner_id     TEXT    NOT NULL,
    hash         BLOB    NOT NULL, -- SHA-256 of the secret
    browser      TEXT    NOT NULL, -- as the person knows it
    admin        INTEGER NOT NULL, -- 1: the issuer named the person an admin
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    CONSTRAINT sessions_pk PRIMARY KEY (id),
    CONSTRAINT sessions_hash UNIQUE (hash),
    CONSTRAINT sessions_owner FOREIGN KEY (owner_id) REFERENCES owners (id)
) STRICT;
CREATE INDEX sessions_by_owner ON sessions (owner_id, id);
CREATE INDEX sessions_by_use ON sessions (last_used_at, id);

CREATE TABLE invitations (
    id           TEXT    NOT NULL,
    hash         BLOB    NOT NULL, -- SHA-256 of the secret
    role         TEXT    NOT NULL,
    role_leagues TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    email        TEXT    NOT NULL,
    uses         INTEGER NOT NULL,
    used         INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    created_by   TEXT    NOT NULL,
    expires_at   INTEGER NOT NULL,
    revoked_at   INTEGER NOT NULL,
    CONSTRAINT invitations_pk PRIMARY KEY (id),
    CONSTRAINT invitations_hash UNIQUE (hash)
) STRICT;
CREATE INDEX invitations_by_end ON invitations (expires_at, id);

-- A token of the issuer may outlive the deletion of its owner, and must not make another one.
CREATE TABLE erased_identities (
    digest TEXT    NOT NULL, -- of issuer and subject, SHA-256 in hexadecimal
    at     INTEGER NOT NULL,
    CONSTRAINT erased_identities_pk PRIMARY KEY (digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX erased_identities_by_time ON erased_identities (at, digest);

-- +goose Down

DROP TABLE erased_identities;
DROP TABLE invitations;
DROP TABLE sessions;
DROP INDEX owners_by_role;
ALTER TABLE owners DROP COLUMN role_leagues;
ALTER TABLE owners DROP COLUMN role;
