-- An arena as schema 1 holds it, with rows in every table: that of storetest.Fill,
-- without most of its tasks and deliveries. Statements end with a semicolon at the
-- end of a line; {hex …} is bytes.
DELETE FROM counters;
INSERT INTO owners (id, name, email, created_at, suspended_at, network, suspend_reason, erased_at, role, role_leagues, email_confirmed_at, no_pause_mails) VALUES
    ('ow_kim', 'Kim', '', 1583064000000, 0, '', '', 0, '', 'null', 1583064000000, 0),
    ('ow_left', 'deleted owner', '', 1583064000000, 0, '', '', 1583064000000, '', '[]', 0, 0),
    ('ow_a', 'a', 'a@example.org', 1583064000000, 0, '', '', 0, '', 'null', 0, 0),
    ('ow_b', 'b', 'b@example.org', 1583064000000, 0, '', '', 0, '', 'null', 0, 0),
    ('ow_c', 'c', 'c@example.org', 1583064000000, 0, '', '', 0, '', 'null', 0, 0),
    ('ow_d', 'd', 'd@example.org', 1583064000000, 0, '', '', 0, '', 'null', 0, 0),
    ('ow_gone', 'deleted owner', '', 1583064000000, 0, '', '', 1583064000000, '', '[]', 0, 0);
INSERT INTO signing_keys (kid, alg, private, created_at, signs_from, expires_at) VALUES
    ('key_1', 'ES256', {hex 0001ff}, 1583064000000, 1583064000000, 0);
INSERT INTO agents (id, owner_id, name, name_key, protocol, endpoint, public_key, version, description, pauses, paused_until, created_at, passed_at, retired_at, health_ok, checked_at, latency_ns, health_reason, health_detail, capabilities, declared_latency_ns, max_concurrent, failures, successes, key_proved_at, endpoint_key, endpoint_since, endpoint_domain, pull_concurrent, pause_after, resumed_at, budget, round_tokens) VALUES
    ('ag_a', 'ow_a', 'a', 'a', 'aap', 'https://a.example.org', 'key', '1', 'plays', '[]', 0, 1583064000000, 1583064060000, 0, 1, 1583064000000, 1234567, 'fine', 'all well', '["trivia"]', 1000000000, 1, 1, 2, 0, '', 0, '', 1, 0, 0, '{}', 0),
    ('ag_b', 'ow_b', 'b', 'b', 'aap', 'https://b.example.org', 'key', '1', 'plays', '[]', 0, 1583064000000, 1583064060000, 0, 1, 1583064000000, 1234567, 'fine', 'all well', '["trivia"]', 1000000000, 1, 1, 2, 0, '', 0, '', 1, 0, 0, '{}', 0),
    ('ag_c', 'ow_c', 'c', 'c', 'aap', 'https://c.example.org', 'key', '1', 'plays', '[]', 0, 1583064000000, 1583064060000, 0, 1, 1583064000000, 1234567, 'fine', 'all well', '["trivia"]', 1000000000, 1, 1, 2, 0, '', 0, '', 1, 0, 0, '{}', 0),
    ('ag_d', 'ow_d', 'd', 'd', 'aap', 'https://d.example.org', 'key', '1', 'plays', '[{"reason":"owner","since":1583064000000,"until":0}]', 9223372036854775807, 1583064000000, 1583064060000, 0, 1, 1583064000000, 1234567, 'fine', 'all well', '["trivia"]', 1000000000, 1, 1, 2, 0, '', 0, '', 1, 0, 0, '{}', 0);
INSERT INTO uptime (agent_id, day, ok, failed) VALUES
    ('ag_a', '2020-03-01', 1, 0),
    ('ag_b', '2020-03-01', 1, 0),
    ('ag_c', '2020-03-01', 0, 1),
    ('ag_d', '2020-03-01', 1, 0);
INSERT INTO packs (id, name, format, tasks, created_at) VALUES
    ('pk_1', 'pack', 'jsonl', 1300, 1583064000000);
INSERT INTO tasks (pack_id, n, body, removed_at, replaced_by) VALUES
    ('pk_1', 1298, '{"id":"tk_1298","description":"é\u2028\u003cb\u003e","answers":["4"],"options":null,"input_format":"","output_format":"","topic":"","difficulty":"","max_tokens":0,"rules":null}', 0, 0),
    ('pk_1', 1299, '{"id":"tk_1299","description":"é\u2028\u003cb\u003e","answers":["4"],"options":null,"input_format":"","output_format":"","topic":"","difficulty":"","max_tokens":0,"rules":null}', 0, 0);
INSERT INTO leagues (slug, title, status, settings, entry, schedule, drift, created_at, next_run_at, note, description, prize, rules_text, signup_until, archived_at, removed_tasks) VALUES
    ('trivia', 'TRIVIA', 'open', '{"format":"ladder","generator":{"name":"arithmetic","difficulty":2},"judge":{"kind":"number","tolerance":0.5},"rounds":3,"max_rounds":0,"time_limit":20000000000,"rules":["be short"],"min_seats":2,"max_seats":2,"rated":true,"visibility":"sealed","score_mode":"match"}', '{"agents_per_owner":3}', '* * * * *', 0, 1583064000000, 1583064060000, '{"code":"needs_agents","params":{"least":2,"has":1}}', '', '', '', 0, 0, 0),
    ('sums', 'SUMS', 'open', '{"format":"ladder","generator":{"name":"arithmetic","difficulty":2},"judge":{"kind":"number","tolerance":0.5},"rounds":3,"max_rounds":0,"time_limit":20000000000,"rules":["be short"],"min_seats":2,"max_seats":2,"rated":true,"visibility":"sealed","score_mode":"match"}', '{"agents_per_owner":3}', '* * * * *', 0, 1583064000000, 1583064060000, '{"code":"needs_agents","params":{"least":2,"has":1}}', '', '', '', 0, 0, 0);
INSERT INTO entries (league, agent_id, entered_at, withdrawn_at) VALUES
    ('trivia', 'ag_a', 1583064000000, 0),
    ('trivia', 'ag_b', 1583064001000, 0),
    ('trivia', 'ag_c', 1583064002000, 0),
    ('trivia', 'ag_d', 1583064003000, 0);
INSERT INTO matches (id, league, status, settings, seed, round, round_open, created_at, starts_at, started_at, finished_at, void_code, void_reason, seq, node, epoch, lease_until, log_state, interruptions, delay, judging, seed_salt, unrated_reason) VALUES
    ('m_1', 'trivia', 'finished', '{"format":"ladder","generator":{"name":"arithmetic","difficulty":2},"judge":{"kind":"number","tolerance":0.5},"rounds":3,"max_rounds":0,"time_limit":20000000000,"rules":["be short"],"min_seats":2,"max_seats":2,"rated":true,"visibility":"sealed","score_mode":"match"}', -9223372036854775801, 1, 0, 1583064000000, 1583064060000, 1583064060000, 1583064000000, '', '', 25, 'nd_1', 1, 0, 2, 0, 0, 0, '', ''),
    ('m_2', 'trivia', 'finished', '{"format":"ladder","generator":{"name":"arithmetic","difficulty":2},"judge":{"kind":"number","tolerance":0.5},"rounds":3,"max_rounds":0,"time_limit":20000000000,"rules":["be short"],"min_seats":2,"max_seats":2,"rated":true,"visibility":"sealed","score_mode":"match"}', -9223372036854775801, 1, 0, 1583064000000, 1583064060000, 1583064060000, 1583064060000, '', '', 25, 'nd_1', 1, 0, 1, 0, 0, 0, '', ''),
    ('m_3', 'trivia', 'finished', '{"format":"ladder","generator":{"name":"arithmetic","difficulty":2},"judge":{"kind":"number","tolerance":0.5},"rounds":3,"max_rounds":0,"time_limit":20000000000,"rules":["be short"],"min_seats":2,"max_seats":2,"rated":true,"visibility":"sealed","score_mode":"match"}', -9223372036854775801, 1, 0, 1583064000000, 1583064060000, 1583064060000, 1583064120000, '', '', 25, 'nd_1', 1, 0, 0, 0, 0, 0, '', ''),
    ('m_4', 'sums', 'finished', '{"format":"ladder","generator":{"name":"arithmetic","difficulty":2},"judge":{"kind":"number","tolerance":0.5},"rounds":3,"max_rounds":0,"time_limit":20000000000,"rules":["be short"],"min_seats":2,"max_seats":2,"rated":true,"visibility":"sealed","score_mode":"match"}', -9223372036854775801, 1, 0, 1583064000000, 1583064060000, 1583064060000, 1583064000000, '', '', 3, 'nd_1', 1, 0, 0, 0, 0, 0, '', ''),
    ('m_5', 'trivia', 'running', '{"format":"ladder","generator":{"name":"arithmetic","difficulty":2},"judge":{"kind":"number","tolerance":0.5},"rounds":3,"max_rounds":0,"time_limit":20000000000,"rules":["be short"],"min_seats":2,"max_seats":2,"rated":true,"visibility":"sealed","score_mode":"match"}', -9223372036854775801, 1, 1, 1583064000000, 1583064060000, 1583064060000, 0, '', '', 64, '', 1, 0, 0, 0, 0, 0, '', ''),
    ('m_6', 'trivia', 'scheduled', '{"format":"ladder","generator":{"name":"arithmetic","difficulty":2},"judge":{"kind":"number","tolerance":0.5},"rounds":3,"max_rounds":0,"time_limit":20000000000,"rules":["be short"],"min_seats":2,"max_seats":2,"rated":true,"visibility":"sealed","score_mode":"match"}', -9223372036854775801, 0, 0, 1583064000000, 1583064060000, 0, 0, '', '', 1, '', 0, 0, 0, 0, 0, 0, '', '');
INSERT INTO seats (match_id, no, agent_id, pinned, name, owner_id, protocol, endpoint, public_key, version, state, playing, out_round, points, place, outcome, rate_limits, rating_before, rating_delta, salt, lost_rounds, skipped_rounds, owner_group, tokens, reserved_tokens, ended_at) VALUES
    ('m_1', 0, 'ag_a', 1, 'a', 'ow_a', 'aap', 'https://a.example.org', 'key', '1', 'active', 0, 0, 1000, 1, '', 0, 1500000, 10000, '', 0, 0, '', 0, 0, 1583064000000),
    ('m_1', 1, 'ag_b', 1, 'b', 'ow_b', 'aap', 'https://b.example.org', 'key', '1', 'active', 0, 0, 0, 2, '', 0, 1500000, -10000, '', 0, 0, '', 0, 0, 1583064000000),
    ('m_2', 0, 'ag_b', 1, 'b', 'ow_b', 'aap', 'https://b.example.org', 'key', '1', 'active', 0, 0, 1000, 1, '', 0, 1490000, 10000, '', 0, 0, '', 0, 0, 1583064060000),
    ('m_2', 1, 'ag_c', 1, 'c', 'ow_c', 'aap', 'https://c.example.org', 'key', '1', 'active', 0, 0, 0, 2, '', 0, 1500000, -10000, '', 0, 0, '', 0, 0, 1583064060000),
    ('m_3', 0, 'ag_a', 1, 'a', 'ow_a', 'aap', 'https://a.example.org', 'key', '1', 'active', 0, 0, 1000, 1, '', 0, 1510000, 10000, '', 0, 0, '', 0, 0, 1583064120000),
    ('m_3', 1, 'ag_b', 1, 'b', 'ow_b', 'aap', 'https://b.example.org', 'key', '1', 'active', 0, 0, 0, 2, '', 0, 1500000, -10000, '', 0, 0, '', 0, 0, 1583064120000),
    ('m_4', 0, 'ag_a', 1, 'a', 'ow_a', 'aap', 'https://a.example.org', 'key', '1', 'active', 0, 0, 1000, 1, '', 0, 1500000, 30000, '', 0, 0, '', 0, 0, 1583064000000),
    ('m_4', 1, 'ag_b', 1, 'b', 'ow_b', 'aap', 'https://b.example.org', 'key', '1', 'active', 0, 0, 0, 2, '', 0, 1500000, -10000, '', 0, 0, '', 0, 0, 1583064000000),
    ('m_4', 2, 'ag_c', 1, 'c', 'ow_c', 'aap', 'https://c.example.org', 'key', '1', 'active', 0, 0, 0, 2, '', 0, 1500000, -10000, '', 0, 0, '', 0, 0, 1583064000000),
    ('m_4', 3, 'ag_d', 1, 'd', 'ow_d', 'aap', 'https://d.example.org', 'key', '1', 'active', 0, 0, 0, 2, '', 0, 1500000, -10000, '', 0, 0, '', 0, 0, 1583064000000),
    ('m_5', 0, 'ag_a', 1, 'a', 'ow_a', 'aap', 'https://a.example.org', 'key', '1', 'active', 1, 0, 0, 0, '', 0, 0, NULL, '', 0, 0, '', 0, 0, 0),
    ('m_5', 1, 'ag_b', 1, 'b', 'ow_b', 'aap', 'https://b.example.org', 'key', '1', 'active', 1, 0, 0, 0, '', 0, 0, NULL, '', 0, 0, '', 0, 0, 0),
    ('m_6', 0, 'ag_c', 0, '', '', '', '', '', '', 'active', 0, 0, 0, 0, '', 0, 0, NULL, '', 0, 0, '', 0, 0, 0),
    ('m_6', 1, 'ag_d', 0, '', '', '', '', '', '', 'active', 0, 0, 0, 0, '', 0, 0, NULL, '', 0, 0, '', 0, 0, 0);
INSERT INTO deliveries (id, match_id, league, agent_id, round, task_id, attempt, status, outcome, reason, detail, sent_at, elapsed_ns, request, response) VALUES
    ('dl_05r9bxx600gzdz0brtw295s5j0', 'm_5', 'trivia', 'ag_a', 0, '', 0, 0, 'error', '', '', 1583064000000, 0, NULL, NULL),
    ('dl_05r9bxx603xqe2gw23srjfrnhr', 'm_5', 'trivia', 'ag_a', 0, '', 0, 0, 'error', '', '', 1583064000000, 0, NULL, NULL),
    ('dl_1', 'm_5', 'trivia', 'ag_a', 1, 'tk_1', 1, 200, 'answered', '', '', 1583064000000, 5, {hex 00ff}, {hex });
INSERT INTO ratings (league, agent_id, melo, matches, peak, new_version, wins, draws, losses, opponents, recent, last_rated_at, opponent_groups) VALUES
    ('sums', 'ag_a', 1530000, 1, 1530000, 0, 1, 0, 0, 3, '[1530000]', 1583064000000, 3),
    ('sums', 'ag_b', 1490000, 1, 1500000, 0, 0, 0, 1, 3, '[1490000]', 1583064000000, 3),
    ('sums', 'ag_c', 1490000, 1, 1500000, 0, 0, 0, 1, 3, '[1490000]', 1583064000000, 3),
    ('sums', 'ag_d', 1490000, 1, 1500000, 0, 0, 0, 1, 3, '[1490000]', 1583064000000, 3),
    ('trivia', 'ag_a', 1520000, 2, 1520000, 0, 2, 0, 0, 1, '[1510000,1520000]', 1583064120000, 1),
    ('trivia', 'ag_b', 1490000, 3, 1500000, 0, 1, 0, 2, 2, '[1490000,1500000,1490000]', 1583064120000, 2),
    ('trivia', 'ag_c', 1490000, 1, 1500000, 0, 0, 0, 1, 1, '[1490000]', 1583064060000, 1);
INSERT INTO met (league, a, b) VALUES
    ('sums', 'ag_a', 'ag_b'),
    ('sums', 'ag_a', 'ag_c'),
    ('sums', 'ag_a', 'ag_d'),
    ('sums', 'ag_b', 'ag_c'),
    ('sums', 'ag_b', 'ag_d'),
    ('sums', 'ag_c', 'ag_d'),
    ('trivia', 'ag_a', 'ag_b'),
    ('trivia', 'ag_b', 'ag_c');
INSERT INTO settlements (seq, match_id, league, at, drift) VALUES
    (1, 'm_1', 'trivia', 1583064000000, 0),
    (2, 'm_2', 'trivia', 1583064060000, 0),
    (3, 'm_3', 'trivia', 1583064120000, 0),
    (4, 'm_4', 'sums', 1583064000000, 0);
INSERT INTO rating_changes (settlement, no, agent_id, league, melo_before, melo_after, delta, k, score, matches) VALUES
    (1, 0, 'ag_a', 'trivia', 1500000, 1510000, 10000, 40, 1000, 1),
    (1, 1, 'ag_b', 'trivia', 1500000, 1490000, -10000, 40, 0, 1),
    (2, 0, 'ag_b', 'trivia', 1490000, 1500000, 10000, 40, 1000, 2),
    (2, 1, 'ag_c', 'trivia', 1500000, 1490000, -10000, 40, 0, 1),
    (3, 0, 'ag_a', 'trivia', 1510000, 1520000, 10000, 40, 1000, 2),
    (3, 1, 'ag_b', 'trivia', 1500000, 1490000, -10000, 40, 0, 3),
    (4, 0, 'ag_a', 'sums', 1500000, 1530000, 30000, 40, 1000, 1),
    (4, 1, 'ag_b', 'sums', 1500000, 1490000, -10000, 40, 0, 1),
    (4, 2, 'ag_c', 'sums', 1500000, 1490000, -10000, 40, 0, 1),
    (4, 3, 'ag_d', 'sums', 1500000, 1490000, -10000, 40, 0, 1);
INSERT INTO counters (name, value) VALUES
    ('envelopes', 1),
    ('mail', 1),
    ('settlements', 4);
INSERT INTO event_archives (match_id, first_seq, last_seq, count, bytes, archived_at, data) VALUES
    ('m_2', 1, 25, 25, 1385, 1583064000000, {hex 28b52ffd646904fd0b00c40f01008098bddf925c000f6d617463685f7363686564756c6564137b226c6561677565223a22747269766961227d0d746172746564027b7d0102726f756e640b7b227461736b223a7b7d0461675f62087468696e6b696e67257b226d657373616765223a2230203c623e5c753230323820c3a9222c226e223a302e35307d0102d2a73131a4b73232f6c63333c8d634349ae63535ecf53636be85be373790953838e2a43939b4b427313186c4be27d8d3be273131aae3be273131fcf2be273131ce82bf273131a092bf273131f2a1bf273131c4b1bf27313196c1bf273131056572726f72000e66696e69736865640e7b227261746564223a747275657d4ca041a89801815c7f005023263a600418290f2fa8e3f0e6cc0d7aeecd6d70d9a0737a5a93ab269d13539a5d34e839359dc13583cee9a94c2e99744e4c6376c5a0e7d41406170c3aa7a77cc95d5e7e4798baec7241cfcd3794bc3148d4184820c0246b0c24680c126a0692b6869237064d44fcd3b829ea25bf9f809a9dc242f701f4cbb776});
INSERT INTO seasons (id, league, no, status, format, options, seed, version, started_at, ends_at, finished_at, final) VALUES
    ('se_1', 'sums', 1, 'running', 'swiss', '{}', 0, 2, 1583064000000, 0, 0, '');
INSERT INTO entrants (season_id, agent_id, owner_id, name, rating, round, withdrawn_round) VALUES
    ('se_1', 'ag_a', 'ow_a', '', 0, 1, 0),
    ('se_1', 'ag_b', 'ow_b', '', 0, 1, 0);
INSERT INTO pairings (season_id, round, slot, game, bracket, agents, result, scores, match_id, created_at, decided_at) VALUES
    ('se_1', 1, 1, 1, '', '["ag_a","ag_b"]', '', '', NULL, 1583064000000, 0);
INSERT INTO fits (league, settlement, at, lines) VALUES
    ('trivia', 1, 1583064000000, '[{"agent_id":"ag_a","rating":1500.001,"low":0.000,"high":0.000,"rank_low":0,"rank_high":0,"island":0}]');
INSERT INTO audit (id, at, actor, token, action, target, before, after) VALUES
    ('au_05r9bxx60103bbp4fp83jsh6gc', 1583064000000, 'admin', '', 'league.start', 'trivia', '', '{}');
INSERT INTO mail (box, n, id, body, created_at, expires_at) VALUES
    ('box', 1, '1', {hex 00ff}, 1583064000000, 1583067600000);
INSERT INTO seen (scope, id, digest, expires_at) VALUES
    ('scope', '1', {hex 0100000000000000000000000000000000000000000000000000000000000000}, 1583067600000);
INSERT INTO envelopes (no, seq, id, sender, recipient, type, thread, request_id, ts, received_at, shown_at, expires_at, digest, body, match_id, round, agent_id, owner_id, size) VALUES
    (1, 1, 'msg_1', 'did:key:ann', 'did:key:bob', 'REQUEST', 'thread_msg_1', 'req_msg_1', 1583064001000, 1583064001000, 1583064001000, 1583064061000, {hex 116b88f173007be5e05df2a87105f0950bef284d0ceca39951e9bae80706ac45}, {hex 7b226964223a226d73675f3122207d}, '', 0, '', '', 15);
INSERT INTO relay_keys (key, polled_at, manifest, manifest_at) VALUES
    ('did:key:ann', 0, {hex 7b7d}, 1583064000000);
INSERT INTO own_keys (name, private) VALUES
    ('envelope', {hex 00ff});
INSERT INTO conversations (key, agent_id, address, document, state, created_at, expires_at, site) VALUES
    ({hex 09ff000000000000000000000000000000000000000000000000000000000000}, '', '', '', '{}', 1583064000000, 1583064000000, '');
INSERT INTO secret_bases (agent_id, hash, created_at, alive_until, max_concurrent) VALUES
    ('ag_a', {hex 0800ff0000000000000000000000000000000000000000000000000000000000}, 1583064000000, 0, 1);
INSERT INTO peers (agent_id, key_name, capabilities, hello_at, way, epoch, seen_at) VALUES
    ('ag_a', '', '["arena:round"]', 1583064000000, 'websocket', 1, 1583064000000);
INSERT INTO identities (issuer, subject, owner_id, created_at) VALUES
    ('https://a.example', '1', 'ow_kim', 1583064000000);
INSERT INTO conformance (agent_id, version, checked_at, passed, must_pass, must_total, should_pass, should_total, report) VALUES
    ('ag_a', '', 1583064000000, 1, 0, 0, 0, 0, '{"é":1}'),
    ('ag_b', '', 1583064000000, 1, 0, 0, 0, 0, '{"é":1}'),
    ('ag_c', '', 1583064000000, 1, 0, 0, 0, 0, '{"é":1}'),
    ('ag_d', '', 1583064000000, 1, 0, 0, 0, 0, '{"é":1}');
INSERT INTO nodes (node, version, started_at, seen_at, draining, last_error, last_error_at) VALUES
    ('nd_1', 'v1', 1583064000000, 1795789010440, 0, 'job failed', 0);
INSERT INTO banner (one, text, since) VALUES
    (1, 'Down at six', 1583064000000);
INSERT INTO encounters (a, b, a_wins, draws, b_wins) VALUES
    ('ag_a', 'ag_b', 3, 0, 0),
    ('ag_a', 'ag_c', 1, 0, 0),
    ('ag_a', 'ag_d', 1, 0, 0),
    ('ag_b', 'ag_c', 1, 1, 0),
    ('ag_b', 'ag_d', 0, 1, 0),
    ('ag_c', 'ag_d', 0, 1, 0);
INSERT INTO outcomes (agent_id, outcome, rounds) VALUES
    ('ag_a', 'answered', 1);
INSERT INTO erasures (match_id, commitments) VALUES
    ('m_1', '{"/seats/0/name":"c"}');
INSERT INTO names (key, holder) VALUES
    ('agent case a', 'ag_a'),
    ('agent fold a', 'ag_a'),
    ('agent look a', 'ag_a'),
    ('agent case b', 'ag_b'),
    ('agent fold b', 'ag_b'),
    ('agent look b', 'ag_b'),
    ('agent case c', 'ag_c'),
    ('agent fold c', 'ag_c'),
    ('agent look c', 'ag_c'),
    ('agent case d', 'ag_d'),
    ('agent fold d', 'ag_d'),
    ('agent look d', 'ag_d'),
    ('owner case kim', 'ow_kim'),
    ('owner fold kim', 'ow_kim'),
    ('owner look Kim', 'ow_kim'),
    ('owner case a', 'ow_a'),
    ('owner fold a', 'ow_a'),
    ('owner look a', 'ow_a'),
    ('owner case b', 'ow_b'),
    ('owner fold b', 'ow_b'),
    ('owner look b', 'ow_b'),
    ('owner case c', 'ow_c'),
    ('owner fold c', 'ow_c'),
    ('owner look c', 'ow_c'),
    ('owner case d', 'ow_d'),
    ('owner fold d', 'ow_d'),
    ('owner look d', 'ow_d');
INSERT INTO met_groups (league, agent_id, owner_group) VALUES
    ('sums', 'ag_a', 'ow_b'),
    ('sums', 'ag_a', 'ow_c'),
    ('sums', 'ag_a', 'ow_d'),
    ('sums', 'ag_b', 'ow_a'),
    ('sums', 'ag_b', 'ow_c'),
    ('sums', 'ag_b', 'ow_d'),
    ('sums', 'ag_c', 'ow_a'),
    ('sums', 'ag_c', 'ow_b'),
    ('sums', 'ag_c', 'ow_d'),
    ('sums', 'ag_d', 'ow_a'),
    ('sums', 'ag_d', 'ow_b'),
    ('sums', 'ag_d', 'ow_c'),
    ('trivia', 'ag_a', 'ow_b'),
    ('trivia', 'ag_b', 'ow_a'),
    ('trivia', 'ag_b', 'ow_c'),
    ('trivia', 'ag_c', 'ow_b');
INSERT INTO agora_ways (agent_id, endpoint, way) VALUES
    ('ag_a', 'https://a.example/', 'words');
INSERT INTO tokens (id, owner_id, scope, name, hash, created_at, last_used_at, revoked_at, leagues, expires_at, configured, agent_id, last_used_by) VALUES
    ('to_admin', NULL, 'admin', 'admin', {hex 4d00ff0000000000000000000000000000000000000000000000000000000000}, 1583064000000, 0, 0, 'null', 0, 0, NULL, ''),
    ('to_a', 'ow_a', 'owner', 'first', {hex 93433908eddbb63d7e15ea526e54df06ca3284e28d8782ec8a15988c860bb267}, 1583064000000, 0, 0, 'null', 0, 0, NULL, ''),
    ('to_b', 'ow_b', 'owner', 'first', {hex 3ac381b349b768ee74072655d8d7158edc8205b7b723406a0cac23135556609e}, 1583064000000, 0, 0, 'null', 0, 0, NULL, ''),
    ('to_c', 'ow_c', 'owner', 'first', {hex b5b9e67770ae8298f2beed89edd2b10448656187e334884fda844ebe8f69759c}, 1583064000000, 0, 0, 'null', 0, 0, NULL, ''),
    ('to_d', 'ow_d', 'owner', 'first', {hex b537475d78550a34658766a84eb28b1971154fe04880a3f423706fb81cda61de}, 1583064000000, 0, 0, 'null', 0, 0, NULL, ''),
    ('to_key', 'ow_a', 'agent', 'key', {hex 0700000000000000000000000000000000000000000000000000000000000000}, 1583064000000, 0, 0, 'null', 0, 0, 'ag_a', ''),
    ('to_gone', 'ow_gone', 'owner', '', {hex a8f8da3963a0a29a992414b6113e1485a25a6a1519a6ad70301145a620812d5e}, 1583064000000, 0, 1583064000000, 'null', 0, 0, NULL, '');
INSERT INTO pulled_tasks (agent_id, task_id, id, match_id, round, attempt, body, output_format, deadline, sent_at, expires_at, deliveries, fetched_at, answered_at, answer) VALUES
    ('ag_a', 'tk_9', 'p_1', '', 0, 0, {hex 00ff}, '', 0, 1583064000000, 1583064060000, 0, 0, 0, NULL);
INSERT INTO presence (agent_id, until) VALUES
    ('ag_a', 1583064000000);
INSERT INTO games (sha256, name, version, title, source, report, created_at, created_by) VALUES
    ('00ff', 'nim', '1', 'Nim', '// é ', '{}', 1583064000000, 'admin');
INSERT INTO game_records (league, agent_id, turn_order, ended, cause, games, wins, draws, losses, points) VALUES
    ('sums', 'ag_a', 1, 'played_out', '', 1, 0, 1, 0, 500);
INSERT INTO erased_owners (owner_id, at, done_at) VALUES
    ('ow_gone', 1583064000000, 0),
    ('ow_left', 1583064000000, 0);
INSERT INTO tls_files (key, value, modified_at) VALUES
    ('certificates/ca/a.example/a.example.key', {hex 00ff}, 1583064000000);
INSERT INTO tls_locks (name, holder, expires_at) VALUES
    ('issue_cert_a.example', '1', 1795792610442);
INSERT INTO sessions (id, owner_id, hash, browser, admin, created_at, last_used_at) VALUES
    ('ss_1', 'ow_kim', {hex 81ed6538e5951432bf5df45dd40844a7cb2b2fc42094f1a6ba37d50b545f60f9}, 'Firefox, Linux', 1, 1583064000000, 1583064000000);
INSERT INTO invitations (id, hash, role, role_leagues, name, email, uses, used, created_at, created_by, expires_at, revoked_at) VALUES
    ('in_1', {hex 3100000000000000000000000000000000000000000000000000000000000000}, 'organizer', '["sums"]', 'é', '', 1, 0, 1583064000000, 'admin', 1583067600000, 0);
INSERT INTO erased_identities (digest, at) VALUES
    ('13a2e15d7997e227637182f8b6cd4ea9f8c89df8021d6d3f21e7e12988566506', 1583064000000);
INSERT INTO outbox (id, kind, owner_id, agent_id, pause, address, created_at, next_at, give_up_at, ended_at, attempts) VALUES
    ('ml_1', 'pause', 'ow_kim', 'ag_a', 'rate_limit', 'é@example.org', 1583064000000, 1583064000000, 1583067600000, 1583064000000, 2);
INSERT INTO mail_links (hash, kind, owner_id, address, expires_at) VALUES
    ({hex 0600ff0000000000000000000000000000000000000000000000000000000000}, 'reset', 'ow_kim', 'é@example.org', 1583064000000);
INSERT INTO rounds (match_id, no, task, opened_at, closed_at, interruptions, opened_seq, source, turn, vote_until) VALUES
    ('m_1', 1, '{"id":"tk_1","description":"2+2?","answers":["4","four"],"options":["4","5"],"input_format":"string","output_format":"number","topic":"sums","difficulty":"easy","max_tokens":9,"rules":["think"]}', 1583064060000, 1583064000000, 0, 2, '', '', 0),
    ('m_2', 1, '{"id":"tk_1","description":"2+2?","answers":["4","four"],"options":["4","5"],"input_format":"string","output_format":"number","topic":"sums","difficulty":"easy","max_tokens":9,"rules":["think"]}', 1583064060000, 1583064000000, 0, 2, '', '', 0),
    ('m_3', 1, '{"id":"tk_1","description":"2+2?","answers":["4","four"],"options":["4","5"],"input_format":"string","output_format":"number","topic":"sums","difficulty":"easy","max_tokens":9,"rules":["think"]}', 1583064060000, 1583064000000, 0, 2, '', '', 0),
    ('m_4', 1, '{"id":"tk_1","description":"2+2?","answers":["4","four"],"options":["4","5"],"input_format":"string","output_format":"number","topic":"sums","difficulty":"easy","max_tokens":9,"rules":["think"]}', 1583064060000, 1583064000000, 0, 2, '', '', 0),
    ('m_5', 1, '{"id":"tk_1","description":"2+2?","answers":["4","four"],"options":["4","5"],"input_format":"string","output_format":"number","topic":"sums","difficulty":"easy","max_tokens":9,"rules":["think"]}', 1583064060000, 0, 0, 2, '', '', 0);
INSERT INTO verdicts (match_id, round, no, judge, version, seats, ballots, at) VALUES
    ('m_4', 1, 1, 'panel', 'panel-1', '[{"agent_id":"ag_a","points":1},{"agent_id":"ag_b","points":0.333}]', '[{"judge":"ag_j","first":"ag_a","second":"ag_b","choice":"ag_a","reason":"shorter","votes":2}]', 1583064000000);
INSERT INTO votes (match_id, round, voter, address, choice, other, at, site) VALUES
    ('m_5', 1, {hex 01ff000000000000000000000000000000000000000000000000000000000000}, {hex 0000000000000000000000000000000000000000000000000000000000000000}, 'ag_a', 'ag_b', 1583064000000, {hex 0000000000000000000000000000000000000000000000000000000000000000});
INSERT INTO answers (match_id, round, agent_id, outcome, reason, body, elapsed_ns, attempts, points, judged, arrived_at, over_tokens) VALUES
    ('m_4', 1, 'ag_a', 'answered', '', '{"answer":"four \u2028\u003cb\u003e\u0000","confidence":0.10000000000000002,"reasoning":"2+2","subagents_used":[],"tools_used":["calc"],"tokens":1152921504606846976,"latency_ms":1e-300,"offer":{"plan":"count \u2028\u003cb\u003e\u0000","price_usd":0.10000000000000002,"eta_seconds":0.5},"metrics":{"cost_actual":0.1},"artifacts":[{"a":"\u003cb\u003e"}]}', 4200000001, 2, 0, 0, 1583064001000, 1),
    ('m_5', 1, 'ag_a', 'answered', '', '{"answer":"four \u2028\u003cb\u003e\u0000","confidence":0.10000000000000002,"reasoning":"2+2","subagents_used":[],"tools_used":["calc"],"tokens":1152921504606846976,"latency_ms":1e-300,"offer":{"plan":"count \u2028\u003cb\u003e\u0000","price_usd":0.10000000000000002,"eta_seconds":0.5},"metrics":{"cost_actual":0.1},"artifacts":[{"a":"\u003cb\u003e"}]}', 4200000001, 2, 0, 0, 1583064001000, 1);
INSERT INTO events (match_id, seq, round, agent_id, at, type, body, hidden) VALUES
    ('m_3', 1, 0, '', 1583064000000, 'match_scheduled', '{"league":"trivia"}', ''),
    ('m_3', 2, 0, '', 1583064000000, 'match_started', '{}', ''),
    ('m_3', 3, 1, '', 1583064000000, 'round_started', '{"task":{}}', ''),
    ('m_3', 4, 1, 'ag_a', 1583064000000, 'thinking', '{"message":"0 <b>\u2028 é","n":0.50}', '{"message":"the secret"}'),
    ('m_3', 5, 1, 'ag_a', 1583064001001, 'thinking', '{"message":"1 <b>\u2028 é","n":1.50}', '{"message":"the secret"}'),
    ('m_3', 6, 1, 'ag_a', 1583064002002, 'thinking', '{"message":"2 <b>\u2028 é","n":2.50}', '{"message":"the secret"}'),
    ('m_3', 7, 1, 'ag_a', 1583064003003, 'thinking', '{"message":"3 <b>\u2028 é","n":3.50}', '{"message":"the secret"}'),
    ('m_3', 8, 1, 'ag_a', 1583064004004, 'thinking', '{"message":"4 <b>\u2028 é","n":4.50}', '{"message":"the secret"}'),
    ('m_3', 9, 1, 'ag_a', 1583064005005, 'thinking', '{"message":"5 <b>\u2028 é","n":5.50}', '{"message":"the secret"}'),
    ('m_3', 10, 1, 'ag_a', 1583064006006, 'thinking', '{"message":"6 <b>\u2028 é","n":6.50}', '{"message":"the secret"}'),
    ('m_3', 11, 1, 'ag_a', 1583064007007, 'thinking', '{"message":"7 <b>\u2028 é","n":7.50}', '{"message":"the secret"}'),
    ('m_3', 12, 1, 'ag_a', 1583064008008, 'thinking', '{"message":"8 <b>\u2028 é","n":8.50}', '{"message":"the secret"}'),
    ('m_3', 13, 1, 'ag_a', 1583064009009, 'thinking', '{"message":"9 <b>\u2028 é","n":9.50}', '{"message":"the secret"}'),
    ('m_3', 14, 1, 'ag_a', 1583064010010, 'thinking', '{"message":"10 <b>\u2028 é","n":10.50}', '{"message":"the secret"}'),
    ('m_3', 15, 1, 'ag_a', 1583064011011, 'thinking', '{"message":"11 <b>\u2028 é","n":11.50}', '{"message":"the secret"}'),
    ('m_3', 16, 1, 'ag_a', 1583064012012, 'thinking', '{"message":"12 <b>\u2028 é","n":12.50}', '{"message":"the secret"}'),
    ('m_3', 17, 1, 'ag_a', 1583064013013, 'thinking', '{"message":"13 <b>\u2028 é","n":13.50}', '{"message":"the secret"}'),
    ('m_3', 18, 1, 'ag_a', 1583064014014, 'thinking', '{"message":"14 <b>\u2028 é","n":14.50}', '{"message":"the secret"}'),
    ('m_3', 19, 1, 'ag_a', 1583064015015, 'thinking', '{"message":"15 <b>\u2028 é","n":15.50}', '{"message":"the secret"}'),
    ('m_3', 20, 1, 'ag_a', 1583064016016, 'thinking', '{"message":"16 <b>\u2028 é","n":16.50}', '{"message":"the secret"}'),
    ('m_3', 21, 1, 'ag_a', 1583064017017, 'thinking', '{"message":"17 <b>\u2028 é","n":17.50}', '{"message":"the secret"}'),
    ('m_3', 22, 1, 'ag_a', 1583064018018, 'thinking', '{"message":"18 <b>\u2028 é","n":18.50}', '{"message":"the secret"}'),
    ('m_3', 23, 1, 'ag_a', 1583064019019, 'thinking', '{"message":"19 <b>\u2028 é","n":19.50}', '{"message":"the secret"}'),
    ('m_3', 24, 1, 'ag_a', 1583064000000, 'error', '', ''),
    ('m_3', 25, 0, '', 1583064000000, 'match_finished', '{"rated":true}', ''),
    ('m_4', 1, 0, '', 1583064000000, 'match_scheduled', '{"league":"sums"}', ''),
    ('m_4', 2, 0, '', 1583064000000, 'match_started', '{}', ''),
    ('m_4', 3, 0, '', 1583064000000, 'match_finished', '{"rated":true}', ''),
    ('m_5', 1, 0, '', 1583064000000, 'match_scheduled', '{"league":"trivia"}', ''),
    ('m_5', 2, 0, '', 1583064000000, 'match_started', '{}', ''),
    ('m_5', 3, 1, '', 1583064000000, 'round_started', '{"task":{}}', ''),
    ('m_5', 4, 1, 'ag_a', 1583064000000, 'thinking', '{"message":"hm"}', ''),
    ('m_5', 5, 1, 'ag_a', 1583064000000, 'error', '', '{"message":"sealed"}'),
    ('m_5', 6, 1, 'ag_a', 1583064000000, 'thinking', '{"message":"hm"}', ''),
    ('m_5', 7, 1, 'ag_a', 1583064000000, 'error', '', '{"message":"sealed"}'),
    ('m_5', 8, 1, 'ag_a', 1583064000000, 'thinking', '{"message":"hm"}', ''),
    ('m_5', 9, 1, 'ag_a', 1583064000000, 'error', '', '{"message":"sealed"}'),
    ('m_5', 10, 1, 'ag_a', 1583064000000, 'thinking', '{"message":"hm"}', ''),
    ('m_5', 11, 1, 'ag_a', 1583064000000, 'error', '', '{"message":"sealed"}'),
    ('m_5', 12, 1, 'ag_a', 1583064000000, 'thinking', '{"message":"hm"}', ''),
    ('m_5', 13, 1, 'ag_a', 1583064000000, 'error', '', '{"message":"sealed"}'),
    ('m_5', 14, 1, 'ag_a', 1583064000000, 'thinking', '{"message":"hm"}', ''),
    ('m_5', 15, 1, 'ag_a', 1583064000000, 'error', '', '{"message":"sealed"}'),
    ('m_5', 16, 1, 'ag_a', 1583064000000, 'thinking', '{"message":"hm"}', ''),
    ('m_5', 17, 1, 'ag_a', 1583064000000, 'error', '', '{"message":"sealed"}'),
    ('m_5', 18, 1, 'ag_a', 1583064000000, 'thinking', '{"message":"hm"}', ''),
    ('m_5', 19, 1, 'ag_a', 1583064000000, 'error', '', '{"message":"sealed"}'),
    ('m_5', 20, 1, 'ag_a', 1583064000000, 'thinking', '{"message":"hm"}', ''),
    ('m_5', 21, 1, 'ag_a', 1583064000000, 'error', '', '{"message":"sealed"}'),
    ('m_5', 22, 1, 'ag_a', 1583064000000, 'thinking', '{"message":"hm"}', ''),
    ('m_5', 23, 1, 'ag_a', 1583064000000, 'error', '', '{"message":"sealed"}'),
    ('m_5', 24, 1, 'ag_a', 1583064000000, 'thinking', '{"message":"hm"}', ''),
    ('m_5', 25, 1, 'ag_a', 1583064000000, 'error', '', '{"message":"sealed"}'),
    ('m_5', 26, 1, 'ag_a', 1583064000000, 'thinking', '{"message":"hm"}', ''),
    ('m_5', 27, 1, 'ag_a', 1583064000000, 'error', '', '{"message":"sealed"}'),
    ('m_5', 28, 1, 'ag_a', 1583064000000, 'thinking', '{"message":"hm"}', ''),
    ('m_5', 29, 1, 'ag_a', 1583064000000, 'error', '', '{"message":"sealed"}'),
    ('m_5', 30, 1, 'ag_a', 1583064000000, 'thinking', '{"message":"hm"}', ''),
    ('m_5', 31, 1, 'ag_a', 1583064000000, 'error', '', '{"message":"sealed"}'),
    ('m_5', 32, 1, 'ag_a', 1583064000000, 'thinking', '{"message":"hm"}', ''),
    ('m_5', 33, 1, 'ag_a', 1583064000000, 'error', '', '{"message":"sealed"}'),
    ('m_5', 34, 1, 'ag_a', 1583064000000, 'thinking', '{"message":"hm"}', ''),
    ('m_5', 35, 1, 'ag_a', 1583064000000, 'error', '', '{"message":"sealed"}'),
    ('m_5', 36, 1, 'ag_a', 1583064000000, 'thinking', '{"message":"hm"}', ''),
    ('m_5', 37, 1, 'ag_a', 1583064000000, 'error', '', '{"message":"sealed"}'),
    ('m_5', 38, 1, 'ag_a', 1583064000000, 'thinking', '{"message":"hm"}', ''),
    ('m_5', 39, 1, 'ag_a', 1583064000000, 'error', '', '{"message":"sealed"}'),
    ('m_5', 40, 1, 'ag_a', 1583064000000, 'thinking', '{"message":"hm"}', ''),
    ('m_5', 41, 1, 'ag_a', 1583064000000, 'error', '', '{"message":"sealed"}'),
    ('m_5', 42, 1, 'ag_a', 1583064000000, 'thinking', '{"message":"hm"}', ''),
    ('m_5', 43, 1, 'ag_a', 1583064000000, 'error', '', '{"message":"sealed"}'),
    ('m_5', 44, 1, 'ag_a', 1583064000000, 'thinking', '{"message":"hm"}', ''),
    ('m_5', 45, 1, 'ag_a', 1583064000000, 'error', '', '{"message":"sealed"}'),
    ('m_5', 46, 1, 'ag_a', 1583064000000, 'thinking', '{"message":"hm"}', ''),
    ('m_5', 47, 1, 'ag_a', 1583064000000, 'error', '', '{"message":"sealed"}'),
    ('m_5', 48, 1, 'ag_a', 1583064000000, 'thinking', '{"message":"hm"}', ''),
    ('m_5', 49, 1, 'ag_a', 1583064000000, 'error', '', '{"message":"sealed"}'),
    ('m_5', 50, 1, 'ag_a', 1583064000000, 'thinking', '{"message":"hm"}', ''),
    ('m_5', 51, 1, 'ag_a', 1583064000000, 'error', '', '{"message":"sealed"}'),
    ('m_5', 52, 1, 'ag_a', 1583064000000, 'thinking', '{"message":"hm"}', ''),
    ('m_5', 53, 1, 'ag_a', 1583064000000, 'error', '', '{"message":"sealed"}'),
    ('m_5', 54, 1, 'ag_a', 1583064000000, 'thinking', '{"message":"hm"}', ''),
    ('m_5', 55, 1, 'ag_a', 1583064000000, 'error', '', '{"message":"sealed"}'),
    ('m_5', 56, 1, 'ag_a', 1583064000000, 'thinking', '{"message":"hm"}', ''),
    ('m_5', 57, 1, 'ag_a', 1583064000000, 'error', '', '{"message":"sealed"}'),
    ('m_5', 58, 1, 'ag_a', 1583064000000, 'thinking', '{"message":"hm"}', ''),
    ('m_5', 59, 1, 'ag_a', 1583064000000, 'error', '', '{"message":"sealed"}'),
    ('m_5', 60, 1, 'ag_a', 1583064000000, 'thinking', '{"message":"hm"}', ''),
    ('m_5', 61, 1, 'ag_a', 1583064000000, 'error', '', '{"message":"sealed"}'),
    ('m_5', 62, 1, 'ag_a', 1583064000000, 'thinking', '{"message":"hm"}', ''),
    ('m_5', 63, 1, 'ag_a', 1583064000000, 'error', '', '{"message":"sealed"}'),
    ('m_5', 64, 0, '', 1583064000000, 'seat_outcome', '{}', ''),
    ('m_6', 1, 0, '', 1583064000000, 'match_scheduled', '{"league":"trivia"}', '');
INSERT INTO ticks (job, tick) VALUES
    ('schedule', 1795789010442);
