-- The relay's envelopes, what it knows about keys, the arena's own key.

-- +goose Up

CREATE TABLE envelopes (
    no          INTEGER NOT NULL, -- order of arrival
    seq         INTEGER NOT NULL, -- order of becoming visible; 0: sealed
    id          TEXT    NOT NULL,
    sender      TEXT    NOT NULL,
    recipient   TEXT    NOT NULL, -- '' everyone
    type        TEXT    NOT NULL,
    thread      TEXT    NOT NULL,
    request_id  TEXT    NOT NULL,
    ts          INTEGER NOT NULL, -- the sender's clock
    received_at INTEGER NOT NULL,
    shown_at    INTEGER NOT NULL, -- grows with seq; 0: sealed
    expires_at  INTEGER NOT NULL,
    digest      BLOB    NOT NULL, -- SHA-256 of the signed text
    body        BLOB    NOT NULL, -- as received
    match_id    TEXT    NOT NULL, -- '' not a task of the arena
    round       INTEGER NOT NULL,
    agent_id    TEXT    NOT NULL,
    CONSTRAINT envelopes_pk PRIMARY KEY (no),
    CONSTRAINT envelopes_id UNIQUE (sender, id)
) STRICT;
CREATE INDEX envelopes_by_seq ON envelopes (seq);
CREATE INDEX envelopes_by_shown ON envelopes (shown_at, seq);
CREATE INDEX envelopes_by_thread ON envelopes (thread, no);
CREATE INDEX envelopes_by_request ON envelopes (request_id, no) WHERE type = 'REQUEST';
CREATE INDEX envelopes_by_sender ON envelopes (sender, received_at);
CREATE INDEX envelopes_by_recipient ON envelopes (recipient, seq);
CREATE INDEX envelopes_by_ts ON envelopes (recipient, ts, sender);
CREATE INDEX envelopes_sealed ON envelopes (match_id, round) WHERE seq = 0;
CREATE INDEX envelopes_by_age ON envelopes (received_at);

CREATE TABLE relay_keys (
    key         TEXT    NOT NULL, -- did:key
    polled_at   INTEGER NOT NULL, -- 0: never
    manifest    BLOB    NOT NULL, -- JSON, empty: none
    manifest_at INTEGER NOT NULL,
    CONSTRAINT relay_keys_pk PRIMARY KEY (key)
) STRICT, WITHOUT ROWID;

CREATE TABLE own_keys (
    name    TEXT NOT NULL,
    private BLOB NOT NULL, -- PKCS #8
    CONSTRAINT own_keys_pk PRIMARY KEY (name)
) STRICT, WITHOUT ROWID;

-- +goose Down

DROP TABLE own_keys;
DROP TABLE relay_keys;
DROP TABLE envelopes;
DELETE FROM counters WHERE name = 'envelopes';
