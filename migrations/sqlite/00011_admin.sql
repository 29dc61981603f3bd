-- What whoever runs the arena looks at: who is alive, what every page shows,
-- the ways into the audit log.

-- +goose Up

CREATE TABLE nodes (
    node          TEXT    NOT NULL,
    version       TEXT    NOT NULL,
    started_at    INTEGER NOT NULL,
    seen_at       INTEGER NOT NULL, -- its last sign of life, by the database's clock
    draining      INTEGER NOT NULL,
    last_error    TEXT    NOT NULL, -- '' none
    last_error_at INTEGER NOT NULL,
    CONSTRAINT nodes_pk PRIMARY KEY (node)
) STRICT, WITHOUT ROWID;

CREATE TABLE banner (
    one   INTEGER NOT NULL, -- there is one for the whole arena
    text  TEXT    NOT NULL,
    since INTEGER NOT NULL,
    CONSTRAINT banner_pk PRIMARY KEY (one),
    CONSTRAINT banner_one CHECK (one = 1)
) STRICT;

CREATE INDEX audit_by_actor ON audit (actor, id);
CREATE INDEX audit_by_action ON audit (action, id);
CREATE INDEX audit_by_target ON audit (target, id);

-- +goose Down

DROP INDEX audit_by_target;
DROP INDEX audit_by_action;
DROP INDEX audit_by_actor;
DROP TABLE banner;
DROP TABLE nodes;
