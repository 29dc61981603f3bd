-- Who has how often come out before whom, so that a page of an agent need not
-- read all that it has played.

-- +goose Up

SET LOCAL statement_timeout = 0; -- millions of matches take longer than a statement of ours may

CREATE TABLE encounters (
    a      TEXT COLLATE "C" NOT NULL, -- a < b
    b      TEXT COLLATE "C" NOT NULL,
    a_wins BIGINT NOT NULL, -- finished matches, rated or not, that neither left and a ended in the better place
    draws  BIGINT NOT NULL,
    b_wins BIGINT NOT NULL,
    CONSTRAINT encounters_pk PRIMARY KEY (a, b),
    CONSTRAINT encounters_order CHECK (a < b)
);
CREATE INDEX encounters_by_b ON encounters (b);

INSERT INTO encounters (a, b, a_wins, draws, b_wins)
SELECT x.agent_id, y.agent_id, sum(CASE WHEN x.place < y.place THEN 1 ELSE 0 END), sum(CASE WHEN x.place = y.place THEN 1 ELSE 0 END),
    sum(CASE WHEN x.place > y.place THEN 1 ELSE 0 END)
FROM matches m JOIN seats x ON x.match_id = m.id JOIN seats y ON y.match_id = m.id AND x.agent_id < y.agent_id
WHERE m.status = 'finished' AND x.state <> 'left' AND y.state <> 'left'
GROUP BY x.agent_id, y.agent_id;

-- +goose Down

DROP TABLE encounters;
