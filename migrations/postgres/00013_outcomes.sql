-- How often an agent's rounds ended in which way, so that nothing needs an
-- index of all answers by agent, which every answer paid for.

-- +goose Up

SET LOCAL statement_timeout = 0; -- millions of answers take longer than a statement of ours may

CREATE TABLE outcomes (
    agent_id TEXT COLLATE "C" NOT NULL,
    outcome  TEXT COLLATE "C" NOT NULL,
    rounds   BIGINT NOT NULL, -- of matches that are over, finished or void
    CONSTRAINT outcomes_pk PRIMARY KEY (agent_id, outcome)
);

INSERT INTO outcomes (agent_id, outcome, rounds)
SELECT a.agent_id, a.outcome, count(*)
FROM matches m JOIN answers a ON a.match_id = m.id
WHERE m.status IN ('finished', 'void')
GROUP BY a.agent_id, a.outcome;

DROP INDEX answers_by_agent;
CREATE INDEX answers_dodged ON answers (agent_id) WHERE outcome IN ('unavailable', 'rate_limited') AND attempts > 0;

-- +goose Down

SET LOCAL statement_timeout = 0; -- as above

DROP INDEX answers_dodged;
CREATE INDEX answers_by_agent ON answers (agent_id, outcome, match_id, round);
DROP TABLE outcomes;
