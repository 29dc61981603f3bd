-- The relay's envelopes, what it knows about keys, the arena's own key.

-- +goose Up

CREATE TABLE envelopes (
    no          BIGINT NOT NULL, -- order of arrival
    seq         BIGINT NOT NULL, -- order of becoming visible; 0: sealed
    id          TEXT COLLATE "C" NOT NULL,
    sender      TEXT COLLATE "C" NOT NULL,
    recipient   TEXT COLLATE "C" NOT NULL, -- '' everyone
    type        TEXT COLLATE "C" NOT NULL,
    thread      TEXT COLLATE "C" NOT NULL,
    request_id  TEXT COLLATE "C" NOT NULL,
    ts          BIGINT NOT NULL, -- the sender's clock
    received_at BIGINT NOT NULL,
    shown_at    BIGINT NOT NULL, -- grows with seq; 0: sealed
    expires_at  BIGINT NOT NULL,
    digest      BYTEA   NOT NULL, -- SHA-256 of the signed text
    body        BYTEA   NOT NULL, -- as received
    match_id    TEXT COLLATE "C" NOT NULL, -- '' not a task of the arena
    round       BIGINT NOT NULL,
    agent_id    TEXT COLLATE "C" NOT NULL,
    CONSTRAINT envelopes_pk PRIMARY KEY (no),
    CONSTRAINT envelopes_id UNIQUE (sender, id)
);
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
    key         TEXT COLLATE "C" NOT NULL, -- did:key
    polled_at   BIGINT NOT NULL, -- 0: never
    manifest    BYTEA   NOT NULL, -- JSON, empty: none
    manifest_at BIGINT NOT NULL,
    CONSTRAINT relay_keys_pk PRIMARY KEY (key)
);

CREATE TABLE own_keys (
    name    TEXT COLLATE "C" NOT NULL,
    private BYTEA NOT NULL, -- PKCS #8
    CONSTRAINT own_keys_pk PRIMARY KEY (name)
);

-- +goose Down

DROP TABLE own_keys;
DROP TABLE relay_keys;
DROP TABLE envelopes;
DELETE FROM counters WHERE name = 'envelopes';
