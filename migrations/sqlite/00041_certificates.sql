-- What the nodes share to serve TLS: certificates and accounts of the ACME
-- client with their private keys, and locks of those who change them.

-- +goose Up

CREATE TABLE tls_files (
    key         TEXT PRIMARY KEY,
    value       BLOB NOT NULL,
    modified_at INTEGER NOT NULL
);

CREATE TABLE tls_locks (
    name       TEXT PRIMARY KEY,
    holder     TEXT NOT NULL,
    -- By the clock of the database.
    expires_at INTEGER NOT NULL
);

-- +goose Down

DROP TABLE tls_locks;
DROP TABLE tls_files;
