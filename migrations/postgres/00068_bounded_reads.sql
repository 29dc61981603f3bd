-- +goose Up

-- A node looks for matches whose lease has ended whenever it may play another one.
CREATE INDEX matches_leased ON matches (leased_until, id) WHERE status = 'running';

-- Each round changes the rows of a match and its seats. With room in their pages, and
-- without an index on what changes, no index follows.
ALTER TABLE matches SET (fillfactor = 50);
ALTER TABLE seats SET (fillfactor = 50);
DROP INDEX seats_ended;
CREATE INDEX seats_ended ON seats (agent_id, ended_at) WHERE ended_at > 0;

-- Only the newest no-shows of an agent are read.
DROP INDEX answers_dodged;
CREATE INDEX answers_dodged ON answers (agent_id, match_id) WHERE outcome IN ('unavailable', 'rate_limited') AND attempts > 0;
DROP INDEX seats_withdrawn;
CREATE INDEX seats_withdrawn ON seats (agent_id, match_id) WHERE withdrawal <> '';

-- +goose Down

DROP INDEX seats_withdrawn;
CREATE INDEX seats_withdrawn ON seats (agent_id) WHERE withdrawal <> '';
DROP INDEX answers_dodged;
CREATE INDEX answers_dodged ON answers (agent_id) WHERE outcome IN ('unavailable', 'rate_limited') AND attempts > 0;
DROP INDEX seats_ended;
CREATE INDEX seats_ended ON seats (agent_id, ended_at, tokens) WHERE ended_at > 0;
ALTER TABLE seats RESET (fillfactor);
ALTER TABLE matches RESET (fillfactor);
DROP INDEX matches_leased;
