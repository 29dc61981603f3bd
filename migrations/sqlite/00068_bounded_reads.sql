-- +goose Up

-- A node looks for matches whose lease has ended whenever it may play another one.
CREATE INDEX matches_leased ON matches (leased_until, id) WHERE status = 'running';

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
DROP INDEX matches_leased;
