-- Games in JavaScript that admins upload. Versions are kept for ever: matches pin
-- them by their hash.

-- +goose Up

CREATE TABLE games (
    sha256     TEXT NOT NULL, -- of source, in hex
    name       TEXT NOT NULL,
    version    TEXT NOT NULL,
    title      TEXT NOT NULL,
    source     TEXT NOT NULL, -- at most 256 KiB
    report     TEXT NOT NULL, -- of the check at the upload, JSON
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL, -- the actor of its audit entry
    CONSTRAINT games_pk PRIMARY KEY (sha256),
    CONSTRAINT games_version UNIQUE (name, version)
);
CREATE INDEX games_latest ON games (name, created_at, sha256);

-- +goose Down

DROP TABLE games;
