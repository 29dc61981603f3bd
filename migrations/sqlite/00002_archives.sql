-- Logs of matches that are over: packed after a while, dropped after a longer
-- one when the operator wants that.

-- +goose Up

ALTER TABLE matches ADD COLUMN log_state INTEGER NOT NULL DEFAULT 0; -- where its log is; 0: events, 1: event_archives, 2: dropped
CREATE INDEX matches_by_log ON matches (log_state, finished_at, id);

CREATE TABLE event_archives (
    match_id    TEXT    NOT NULL,
    first_seq   INTEGER NOT NULL,
    last_seq    INTEGER NOT NULL,
    count       INTEGER NOT NULL,
    bytes       INTEGER NOT NULL, -- before it was compressed
    archived_at INTEGER NOT NULL,
    data        BLOB    NOT NULL, -- the events without hidden parts, zstd
    CONSTRAINT event_archives_pk PRIMARY KEY (match_id, first_seq),
    CONSTRAINT event_archives_match FOREIGN KEY (match_id) REFERENCES matches (id)
) STRICT;

-- +goose Down

-- What was packed is lost.
DROP TABLE event_archives;
DROP INDEX matches_by_log;
ALTER TABLE matches DROP COLUMN log_state;
