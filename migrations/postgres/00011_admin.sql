-- What whoever runs the arena looks at: who is alive, what every page shows,
-- the ways into the audit log.

-- +goose Up

CREATE TABLE nodes (
    node          TEXT COLLATE "C" NOT NULL,
    version       TEXT COLLATE "C" NOT NULL,
    started_at    BIGINT NOT NULL,
    seen_at       BIGINT NOT NULL, -- its last sign of life, by the database's clock
    draining      BIGINT NOT NULL,
    last_error    TEXT COLLATE "C" NOT NULL, -- '' none
    last_error_at BIGINT NOT NULL,
    CONSTRAINT nodes_pk PRIMARY KEY (node)
);

CREATE TABLE banner (
    one   BIGINT NOT NULL, -- there is one for the whole arena
    text  TEXT COLLATE "C" NOT NULL,
    since BIGINT NOT NULL,
    CONSTRAINT banner_pk PRIMARY KEY (one),
    CONSTRAINT banner_one CHECK (one = 1)
);

CREATE INDEX audit_by_actor ON audit (actor, id);
CREATE INDEX audit_by_action ON audit (action, id);
CREATE INDEX audit_by_target ON audit (target, id);

-- +goose Down

DROP INDEX audit_by_target;
DROP INDEX audit_by_action;
DROP INDEX audit_by_actor;
DROP TABLE banner;
DROP TABLE nodes;
