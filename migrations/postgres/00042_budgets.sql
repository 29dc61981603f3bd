-- Budgets of agents, and what their matches cost.

-- +goose Up

ALTER TABLE agents ADD COLUMN budget TEXT NOT NULL DEFAULT '{}'; -- JSON; '{}': no limits
ALTER TABLE agents ADD COLUMN round_tokens BIGINT NOT NULL DEFAULT 0; -- of a rehearsal; 0: unknown
ALTER TABLE seats ADD COLUMN tokens BIGINT NOT NULL DEFAULT 0; -- of the answers in closed rounds
ALTER TABLE seats ADD COLUMN reserved_tokens BIGINT NOT NULL DEFAULT 0; -- what the match was estimated to cost an agent with a budget when it was created
ALTER TABLE seats ADD COLUMN ended_at BIGINT NOT NULL DEFAULT 0; -- of its match, if it was started; 0: it is not over, or an earlier version ended it
CREATE INDEX seats_ended ON seats (agent_id, ended_at, tokens) WHERE ended_at > 0;

-- +goose Down

DROP INDEX seats_ended;
ALTER TABLE seats DROP COLUMN ended_at;
ALTER TABLE seats DROP COLUMN reserved_tokens;
ALTER TABLE seats DROP COLUMN tokens;
ALTER TABLE agents DROP COLUMN round_tokens;
ALTER TABLE agents DROP COLUMN budget;
