-- An arena as schema 1 holds it: every table, every state that a row can be
-- in. Statements end with a semicolon at the end of a line; {hex …} is bytes.
INSERT INTO owners (id, name, email, created_at) VALUES
    ('ow_1', 'Ada É', 'ada@example.org', 1700000000001),
    ('ow_2', 'Bob', '', 1700000000002);
INSERT INTO tokens (id, owner_id, scope, name, hash, created_at, last_used_at, revoked_at) VALUES
    ('to_1', 'ow_1', 'owner', 'first', {hex 0101010101010101010101010101010101010101010101010101010101010101}, 1700000000001, 1700000060000, 0),
    ('to_2', 'ow_1', 'owner', 'old', {hex 0202020202020202020202020202020202020202020202020202020202020202}, 1700000000001, 0, 1700000070000),
    ('to_3', NULL, 'admin', 'first start', {hex 0303030303030303030303030303030303030303030303030303030303030303}, 1700000000000, 0, 0);
INSERT INTO signing_keys (kid, alg, private, created_at, signs_from, expires_at) VALUES
    ('key_1', 'ES256', {hex 00ff10}, 1700000000000, 1700000000000, 1700000900000),
    ('key_2', 'EdDSA', {hex 00}, 1700000500000, 1700000800000, 0);
INSERT INTO agents (id, owner_id, name, name_key, protocol, endpoint, public_key, version, description, pauses, paused_until,
    created_at, passed_at, retired_at, health_ok, checked_at, latency_ns, health_reason, health_detail, capabilities,
    declared_latency_ns, max_concurrent, failures, successes) VALUES
    ('ag_1', 'ow_1', 'Ant', 'ant', 'aap', 'https://ant.example.org', '', '1', 'quick', 'null', 0,
     1700000000010, 1700000000020, 0, 1, 1700000000030, 1234567, '', '', '["trivia"]', 5000000, 3, 0, 2),
    ('ag_2', 'ow_2', 'Bee', 'bee', 'aap', 'https://bee.example.org', 'key', '', '',
     '[{"reason":"rate_limit","since":1700000000000,"until":1700000300000}]', 1700000300000,
     1700000000010, 1700000000020, 0, 0, 1700000000030, 0, 'status_500', 'body: oh', '["trivia","sums"]', 0, 1, 2, 0),
    ('ag_3', 'ow_2', 'Cat', 'cat', 'aap', 'https://cat.example.org', '', '', '',
     '[{"reason":"owner","since":1700000000000,"until":0}]', 9223372036854775807,
     1700000000010, 0, 1700000090000, 0, 0, 0, '', '', 'null', 0, 1, 0, 0);
INSERT INTO uptime (agent_id, day, ok, failed) VALUES ('ag_1', '2023-11-14', 2870, 10), ('ag_1', '2023-11-15', 5, 0);
INSERT INTO packs (id, name, format, tasks, created_at) VALUES ('pk_1', 'Facts', 'jsonl', 2, 1700000000100);
INSERT INTO tasks (pack_id, n, body) VALUES
    ('pk_1', 0, '{"id":"tk_1","description":"2+2?","answers":["4","four"],"options":["4","5"],"input_format":"string","output_format":"number","topic":"sums","difficulty":"easy","max_tokens":9,"rules":["think"]}'),
    ('pk_1', 1, '{"id":"tk_2","description":"capital of Peru?","answers":["Lima"],"options":null,"input_format":"","output_format":"","topic":"","difficulty":"","max_tokens":0,"rules":null}');
INSERT INTO leagues (slug, title, status, settings, entry, schedule, drift, created_at, next_run_at, note) VALUES
    ('trivia', 'Trivia', 'running', '{"format":"ladder","pack_id":"pk_1","judge":{"kind":"exact"},"rounds":2,"rated":true,"visibility":"sealed"}', '{}', '', 10000, 1700000000200, 0, ''),
    ('sums', 'Sums', 'paused', '{"format":"elimination","judge":{"kind":"number"}}', '{}', '*/5 * * * *', 0, 1700000000201, 1700000400000, 'too few agents');
INSERT INTO entries (league, agent_id, entered_at, withdrawn_at) VALUES
    ('trivia', 'ag_1', 1700000000300, 0), ('trivia', 'ag_2', 1700000000301, 0), ('trivia', 'ag_3', 1700000000302, 1700000090000);
INSERT INTO matches (id, league, status, settings, seed, round, round_open, created_at, starts_at, started_at, finished_at,
    void_reason, seq, node, epoch, lease_until) VALUES
    ('m_1', 'trivia', 'finished', '{"format":"ladder","rounds":2,"rated":true}', -9223372036854775801, 1, 0, 1700000001000, 1700000001000, 1700000001001, 1700000002000, '', 6, 'nd_1', 1, 0),
    ('m_2', 'trivia', 'void', '{"format":"ladder"}', 7, 1, 0, 1700000003000, 1700000003000, 1700000003001, 1700000004000, 'a seat left', 3, 'nd_1', 2, 0),
    ('m_3', 'trivia', 'cancelled', '{"format":"ladder"}', 8, 0, 0, 1700000005000, 1700000006000, 0, 1700000005500, 'rain', 2, '', 1, 0),
    ('m_4', 'trivia', 'running', '{"format":"ladder","rounds":2,"rated":true}', 9, 1, 1, 1700000007000, 1700000007000, 1700000007001, 0, '', 4, 'nd_2', 3, 1700000012000),
    ('m_5', 'sums', 'ready', '{"format":"elimination"}', 10, 0, 0, 1700000008000, 1700000008000, 0, 0, '', 1, '', 0, 0),
    ('m_6', 'sums', 'scheduled', '{"format":"elimination"}', 11, 0, 0, 1700000008000, 4102444800000, 0, 0, '', 1, '', 0, 0);
INSERT INTO seats (match_id, no, agent_id, pinned, name, owner_id, protocol, endpoint, public_key, version, state, playing,
    out_round, points, place, outcome, rate_limits, rating_before, rating_delta) VALUES
    ('m_1', 0, 'ag_1', 1, 'Ant (then)', 'ow_1', 'aap', 'https://old.example.org', '', '0', 'active', 0, 0, 1000, 1, 'answered', 0, 1500000, 20000),
    ('m_1', 1, 'ag_2', 1, 'Bee', 'ow_2', 'aap', 'https://bee.example.org', 'key', '', 'out', 0, 1, 333, 2, 'timeout', 1, 1500000, -10000),
    ('m_2', 0, 'ag_1', 1, 'Ant', 'ow_1', 'aap', 'https://ant.example.org', '', '1', 'active', 0, 0, 0, 1, 'answered', 0, 0, NULL),
    ('m_2', 1, 'ag_3', 1, 'Cat', 'ow_2', 'aap', 'https://cat.example.org', '', '', 'left', 0, 1, 0, 2, 'unavailable', 0, 0, NULL),
    ('m_3', 0, 'ag_1', 0, '', '', '', '', '', '', 'active', 0, 0, 0, 0, '', 0, 0, NULL),
    ('m_3', 1, 'ag_2', 0, '', '', '', '', '', '', 'active', 0, 0, 0, 0, '', 0, 0, NULL),
    ('m_4', 0, 'ag_2', 1, 'Bee', 'ow_2', 'aap', 'https://bee.example.org', 'key', '', 'active', 1, 0, 0, 0, 'answered', 0, 0, NULL),
    ('m_4', 1, 'ag_1', 1, 'Ant', 'ow_1', 'aap', 'https://ant.example.org', '', '1', 'active', 1, 0, 0, 0, '', 0, 0, NULL),
    ('m_5', 0, 'ag_1', 0, '', '', '', '', '', '', 'active', 0, 0, 0, 0, '', 0, 0, NULL),
    ('m_5', 1, 'ag_2', 0, '', '', '', '', '', '', 'active', 0, 0, 0, 0, '', 0, 0, NULL),
    ('m_6', 0, 'ag_1', 0, '', '', '', '', '', '', 'active', 0, 0, 0, 0, '', 0, 0, NULL),
    ('m_6', 1, 'ag_2', 0, '', '', '', '', '', '', 'active', 0, 0, 0, 0, '', 0, 0, NULL);
INSERT INTO rounds (match_id, no, task, opened_at, closed_at, interruptions, opened_seq) VALUES
    ('m_1', 1, '{"id":"tk_1","description":"2+2?","answers":["4"]}', 1700000001100, 1700000001900, 0, 2),
    ('m_2', 1, '{"id":"tk_1","description":"2+2?","answers":["4"]}', 1700000003100, 0, 1, 2),
    ('m_4', 1, '{"id":"tk_2","description":"capital of Peru?","answers":["Lima"]}', 1700000007100, 0, 2, 1);
INSERT INTO answers (match_id, round, agent_id, outcome, reason, body, elapsed_ns, attempts, points, judged) VALUES
    ('m_1', 1, 'ag_1', 'answered', '', '{"answer":"4","confidence":0.5,"reasoning":"easy","subagents_used":[],"tools_used":["calc"],"tokens":12,"latency_ms":3.25}', 4200000001, 2, 1000, 1),
    ('m_1', 1, 'ag_2', 'timeout', 'deadline', NULL, 20000000000, 1, 0, 1),
    ('m_4', 1, 'ag_2', 'answered', '', '{"answer":"Lima","confidence":null,"reasoning":"","subagents_used":null,"tools_used":null,"tokens":null,"latency_ms":null}', 1000000, 1, 0, 0);
INSERT INTO deliveries (id, match_id, league, agent_id, round, task_id, attempt, status, outcome, reason, detail, sent_at,
    elapsed_ns, request, response) VALUES
    ('dl_1', 'm_1', 'trivia', 'ag_1', 1, 'tk_1', 1, 500, 'error', 'status_500', 'oh', 1700000001101, 17, {hex 7b7d}, {hex 6f68}),
    ('dl_2', 'm_1', 'trivia', 'ag_2', 1, 'tk_1', 1, 0, 'timeout', 'deadline', '', 1700000001102, 20000000000, {hex 7b7d}, NULL);
INSERT INTO events (match_id, seq, round, agent_id, at, type, body, hidden) VALUES
    ('m_1', 1, 0, '', 1700000001000, 'match_scheduled', '{"league":"trivia"}', ''),
    ('m_1', 2, 0, '', 1700000001001, 'match_started', '{}', ''),
    ('m_1', 3, 1, '', 1700000001100, 'round_started', '{"task":{"description":"2+2?"}}', ''),
    ('m_1', 4, 1, 'ag_1', 1700000001500, 'thinking', '{"commitment":"c"}', '{"message":"é secret"}'),
    ('m_1', 5, 1, '', 1700000001900, 'reveal', '{"events":[]}', ''),
    ('m_1', 6, 0, '', 1700000002000, 'match_finished', '{"rated":true}', ''),
    ('m_2', 1, 0, '', 1700000003000, 'match_scheduled', '{}', ''),
    ('m_2', 2, 0, '', 1700000003001, 'match_started', '', ''),
    ('m_2', 3, 0, '', 1700000004000, 'match_void', '{"reason":"a seat left"}', ''),
    ('m_3', 1, 0, '', 1700000005000, 'match_scheduled', '{}', ''),
    ('m_3', 2, 0, '', 1700000005500, 'match_void', '{"reason":"rain"}', ''),
    ('m_4', 1, 0, '', 1700000007000, 'match_scheduled', '{}', ''),
    ('m_4', 2, 0, '', 1700000007001, 'match_started', '{}', ''),
    ('m_4', 3, 1, '', 1700000007100, 'round_started', '{}', ''),
    ('m_4', 4, 1, 'ag_2', 1700000007200, 'seat_outcome', '{"commitment":"d"}', '{"answer":"Lima"}'),
    ('m_5', 1, 0, '', 1700000008000, 'match_scheduled', '{}', ''),
    ('m_6', 1, 0, '', 1700000008000, 'match_scheduled', '{}', '');
INSERT INTO ratings (league, agent_id, melo, matches, peak, new_version, wins, draws, losses, opponents, recent, last_rated_at) VALUES
    ('trivia', 'ag_1', 1520000, 1, 1520000, 9, 1, 0, 0, 1, '[1520000]', 1700000002000),
    ('trivia', 'ag_2', 1490000, 1, 1500000, 0, 0, 0, 1, 1, '[1490000]', 1700000002000);
INSERT INTO met (league, a, b) VALUES ('trivia', 'ag_1', 'ag_2');
INSERT INTO settlements (seq, match_id, league, at, drift) VALUES (1, 'm_1', 'trivia', 1700000002000, 10000);
INSERT INTO rating_changes (settlement, no, agent_id, league, melo_before, melo_after, delta, k, score, matches) VALUES
    (1, 0, 'ag_1', 'trivia', 1500000, 1520000, 20000, 40, 1000, 1),
    (1, 1, 'ag_2', 'trivia', 1500000, 1490000, -10000, 20, 0, 1);
UPDATE counters SET value = 1 WHERE name = 'settlements';
INSERT INTO ticks (job, tick) VALUES ('schedule', 1700000009000), ('health', 1700000010000);
