-- Owners whose agents share a server or a key are one group for rated play.

-- +goose Up

-- What endpoints on the same server have in common: host and port; the whole
-- URL for loopback and private addresses, which strangers share.
ALTER TABLE agents ADD COLUMN endpoint_key TEXT NOT NULL DEFAULT '';
UPDATE agents SET endpoint_key = substr(endpoint, strpos(endpoint, '://') + 3) WHERE endpoint LIKE 'http%';
UPDATE agents SET endpoint_key = substr(endpoint_key, 1, strpos(endpoint_key || '/', '/') - 1) WHERE endpoint_key <> '';
UPDATE agents SET endpoint_key = endpoint_key || CASE WHEN endpoint LIKE 'https:%' THEN ':443' ELSE ':80' END
WHERE endpoint_key <> '' AND (endpoint_key NOT LIKE '%:%' OR endpoint_key LIKE '%]');
UPDATE agents SET endpoint_key = endpoint WHERE endpoint_key LIKE '127.%' OR endpoint_key LIKE 'localhost:%' OR endpoint_key LIKE '%.localhost:%'
    OR endpoint_key LIKE '[::1]:%' OR endpoint_key LIKE '10.%' OR endpoint_key LIKE '192.168.%' OR endpoint_key LIKE '[fc%' OR endpoint_key LIKE '[fd%'
    OR endpoint_key LIKE '172.16.%' OR endpoint_key LIKE '172.17.%' OR endpoint_key LIKE '172.18.%' OR endpoint_key LIKE '172.19.%'
    OR endpoint_key LIKE '172.2_.%' OR endpoint_key LIKE '172.30.%' OR endpoint_key LIKE '172.31.%';
CREATE INDEX agents_by_endpoint_key ON agents (endpoint_key, id) WHERE endpoint_key <> '';
CREATE INDEX agents_by_public_key ON agents (public_key, id) WHERE public_key <> '';

-- The group of a seat's owner when the match was created; empty: its owner alone.
ALTER TABLE seats ADD COLUMN owner_group TEXT NOT NULL DEFAULT '';
-- Why a match of a rated league is not rated; empty: it is, or the league is not.
ALTER TABLE matches ADD COLUMN unrated_reason TEXT NOT NULL DEFAULT '';

-- The first groups of owners that an agent has met in rated matches of a league.
CREATE TABLE met_groups (
    league      TEXT NOT NULL,
    agent_id    TEXT NOT NULL,
    owner_group TEXT NOT NULL,
    CONSTRAINT met_groups_pk PRIMARY KEY (league, agent_id, owner_group)
);
INSERT INTO met_groups (league, agent_id, owner_group)
SELECT m.league, m.a, g.owner_id FROM met m JOIN agents g ON g.id = m.b UNION
SELECT m.league, m.b, g.owner_id FROM met m JOIN agents g ON g.id = m.a;
ALTER TABLE ratings ADD COLUMN opponent_groups BIGINT NOT NULL DEFAULT 0;
UPDATE ratings SET opponent_groups = (SELECT count(*) FROM met_groups g WHERE g.league = ratings.league AND g.agent_id = ratings.agent_id);

-- +goose Down
ALTER TABLE ratings DROP COLUMN opponent_groups;
DROP TABLE met_groups;
ALTER TABLE matches DROP COLUMN unrated_reason;
ALTER TABLE seats DROP COLUMN owner_group;
DROP INDEX agents_by_public_key;
DROP INDEX agents_by_endpoint_key;
ALTER TABLE agents DROP COLUMN endpoint_key;
