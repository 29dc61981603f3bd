-- Owners as outside issuers of tokens know them.

-- +goose Up

CREATE TABLE identities (
    issuer     TEXT COLLATE "C" NOT NULL,
    subject    TEXT COLLATE "C" NOT NULL,
    owner_id   TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    CONSTRAINT identities_pk PRIMARY KEY (issuer, subject),
    CONSTRAINT identities_owner FOREIGN KEY (owner_id) REFERENCES owners (id)
);

-- +goose Down

DROP TABLE identities;
