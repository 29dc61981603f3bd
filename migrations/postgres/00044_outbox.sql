-- Mails to owners, and the links in them.

-- +goose Up

ALTER TABLE owners ADD COLUMN email_confirmed_at BIGINT NOT NULL DEFAULT 0; -- 0: not confirmed
ALTER TABLE owners ADD COLUMN no_pause_mails BIGINT NOT NULL DEFAULT 0;     -- 1: no mail when the arena pauses an agent
CREATE INDEX owners_by_email ON owners (lower(email), id) WHERE email_confirmed_at > 0;

CREATE TABLE outbox (
    id           TEXT COLLATE "C" NOT NULL,
    kind         TEXT COLLATE "C" NOT NULL,
    owner_id     TEXT COLLATE "C" NOT NULL, -- empty: looked up by the address when it is sent
    agent_id     TEXT COLLATE "C" NOT NULL, -- empty: it is about none
    pause        TEXT COLLATE "C" NOT NULL, -- reason; empty: it is about none
    address      TEXT COLLATE "C" NOT NULL,
    created_at   BIGINT NOT NULL,
    next_at      BIGINT NOT NULL, -- of the next attempt
    give_up_at   BIGINT NOT NULL,
    ended_at     BIGINT NOT NULL, -- 0: it waits
    attempts     BIGINT NOT NULL,
    CONSTRAINT outbox_pk PRIMARY KEY (id)
);
CREATE INDEX outbox_due ON outbox (next_at, id) WHERE ended_at = 0;
CREATE INDEX outbox_by_address ON outbox (lower(address), kind, created_at);
CREATE INDEX outbox_by_agent ON outbox (agent_id, created_at) WHERE agent_id <> '';
CREATE INDEX outbox_by_owner ON outbox (owner_id);
CREATE INDEX outbox_by_time ON outbox (created_at, id);

CREATE TABLE mail_links (
    hash       BYTEA NOT NULL, -- SHA-256 of the secret
    kind       TEXT COLLATE "C" NOT NULL,
    owner_id   TEXT COLLATE "C" NOT NULL,
    address    TEXT COLLATE "C" NOT NULL, -- it was sent to
    expires_at BIGINT NOT NULL,
    CONSTRAINT mail_links_pk PRIMARY KEY (hash),
    CONSTRAINT mail_links_owner FOREIGN KEY (owner_id) REFERENCES owners (id)
);
CREATE INDEX mail_links_by_owner ON mail_links (owner_id, kind);
CREATE INDEX mail_links_by_end ON mail_links (expires_at, hash);

-- +goose Down

DROP TABLE mail_links;
DROP TABLE outbox;
DROP INDEX owners_by_email;
ALTER TABLE owners DROP COLUMN no_pause_mails;
ALTER TABLE owners DROP COLUMN email_confirmed_at;
