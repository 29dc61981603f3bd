-- Mails to owners, and the links in them.

-- +goose Up

ALTER TABLE owners ADD COLUMN email_confirmed_at INTEGER NOT NULL DEFAULT 0; -- 0: not confirmed
ALTER TABLE owners ADD COLUMN no_pause_mails INTEGER NOT NULL DEFAULT 0;     -- 1: no mail when the arena pauses an agent
CREATE INDEX owners_by_email ON owners (lower(email), id) WHERE email_confirmed_at > 0;

CREATE TABLE outbox (
    id           TEXT NOT NULL,
    kind         TEXT NOT NULL,
    owner_id     TEXT NOT NULL, -- empty: looked up by the address when it is sent
    agent_id     TEXT NOT NULL, -- empty: it is about none
    pause        TEXT NOT NULL, -- reason; empty: it is about none
    address      TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    next_at      INTEGER NOT NULL, -- of the next attempt
    give_up_at   INTEGER NOT NULL,
    ended_at     INTEGER NOT NULL, -- 0: it waits
    attempts     INTEGER NOT NULL,
    CONSTRAINT outbox_pk PRIMARY KEY (id)
) STRICT;
CREATE INDEX outbox_due ON outbox (next_at, id) WHERE ended_at = 0;
CREATE INDEX outbox_by_address ON outbox (lower(address), kind, created_at);
CREATE INDEX outbox_by_agent ON outbox (agent_id, created_at) WHERE agent_id <> '';
CREATE INDEX outbox_by_owner ON outbox (owner_id);
CREATE INDEX outbox_by_time ON outbox (created_at, id);

CREATE TABLE mail_links (
    hash       BLOB NOT NULL, -- SHA-256 of the secret
    kind       TEXT NOT NULL,
    owner_id   TEXT NOT NULL,
    address    TEXT NOT NULL, -- it was sent to
    expires_at INTEGER NOT NULL,
    CONSTRAINT mail_links_pk PRIMARY KEY (hash),
    CONSTRAINT mail_links_owner FOREIGN KEY (owner_id) REFERENCES owners (id)
) STRICT;
CREATE INDEX mail_links_by_owner ON mail_links (owner_id, kind);
CREATE INDEX mail_links_by_end ON mail_links (expires_at, hash);

-- +goose Down

DROP TABLE mail_links;
DROP TABLE outbox;
DROP INDEX owners_by_email;
ALTER TABLE owners DROP COLUMN no_pause_mails;
ALTER TABLE owners DROP COLUMN email_confirmed_at;
