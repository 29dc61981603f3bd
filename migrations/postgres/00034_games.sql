-- Games in JavaScript that admins upload. Versions are kept for ever: matches pin
-- them by their hash.

-- +goose Up

CREATE TABLE games (
    sha256     TEXT COLLATE "C" NOT NULL, -- of source, in hex
    name       TEXT COLLATE "C" NOT NULL,
    version    TEXT COLLATE "C" NOT NULL,
    title      TEXT COLLATE "C" NOT NULL,
    source     TEXT COLLATE "C" NOT NULL, -- at most 256 KiB
    report     TEXT COLLATE "C" NOT NULL, -- of the check at the upload, JSON
    created_at BIGINT NOT NULL,
    created_by TEXT COLLATE "C" NOT NULL, -- the actor of its audit entry
    CONSTRAINT games_pk PRIMARY KEY (sha256),
    CONSTRAINT games_version UNIQUE (name, version)
);
CREATE INDEX games_latest ON games (name, created_at, sha256);

-- +goose Down

DROP TABLE games;
