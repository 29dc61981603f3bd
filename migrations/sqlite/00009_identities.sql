-- Owners as outside issuers of tokens know them.

-- +goose Up

CREATE TABLE identities (
    issuer     TEXT    NOT NULL,
    subject    TEXT    NOT NULL,
    owner_id   TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    CONSTRAINT identities_pk PRIMARY KEY (issuer, subject),
    CONSTRAINT identities_owner FOREIGN KEY (owner_id) REFERENCES owners (id)
) STRICT, WITHOUT ROWID;

-- +goose Down

DROP TABLE identities;
