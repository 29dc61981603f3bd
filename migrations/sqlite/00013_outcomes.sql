-- How often an agent's rounds ended in which way, so that nothing needs an
-- index of all answers by agent, which every answer paid for.

-- +goose Up

CREATE TABLE outcomes (
    agent_id TEXT    NOT NULL,
    outcome  TEXT    NOT NULL,
    rounds   INTEGER NOT NULL, -- of matches that are over, finished or void
    CONSTRAINT outcomes_pk PRIMARY KEY (agent_id, outcome)
) STRICT, WITHOUT ROWID;

INSERT INTO outcomes (agent_id, outcome, rounds)
SELECT a.agent_id, a.outcome, count(*)
FROM matches m JOIN answers a ON a.match_id = m.id
WHERE m.status IN ('finished', 'void')
GROUP BY a.agent_id, a.outcome;

DROP INDEX answers_by_agent;
CREATE INDEX answers_dodged ON answers (agent_id) WHERE outcome IN ('unavailable', 'rate_limited') AND attempts > 0;

-- +goose Down

DROP INDEX answers_dodged;
CREATE INDEX answers_by_agent ON answers (agent_id, outcome);
DROP TABLE outcomes;
