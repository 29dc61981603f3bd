// Winds recorded matches through time, in headless Chromium, and looks at what
// stands beside them: files, agents' pages.
//
//   scripts/browser-test.sh replay.spec.mjs
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkPages, chooseLog, counted, fits, id, logOf, open, ORIGIN, rewrite, SCREENS, until } from './kit/kit.mjs';
import { recording, shared } from './kit/recording.mjs';

const ready = `${id('match')}[data-ready="true"]`;
const match = shared.match('m_done_duel');
const events = shared.world.logs.get('m_done_duel');

/** What the bar says of where it stands. */
const place = async (page) => {
  const bar = page.locator(id('replay'));
  return { seq: Number(await bar.getAttribute('data-seq')), playing: (await bar.getAttribute('data-playing')) === 'true' };
};
const at = (page, seq) => page.locator(`${id('replay')}[data-seq="${seq}"]`).waitFor();

test('a replay by keyboard alone', async () => {
  const starts = events.filter((e) => e.type === 'round_started').map((e) => e.seq);
  const { page, faults, close } = await open(`/m/${match.match_id}`);
  await page.locator(ready).waitFor();
  await page.locator(id('replay')).waitFor();

  await page.keyboard.press('k');
  await at(page, starts.at(-1));
  await page.locator(`${id('match-status')}[data-status="replay"]`).waitFor();
  await counted(page.locator(id('result')), 0);
  await page.keyboard.press('Shift+ArrowLeft');
  await at(page, starts.at(-2));
  await page.keyboard.press('j');
  await at(page, starts.at(-1));
  await page.keyboard.press('ArrowRight');
  await at(page, starts.at(-1) + 1);
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  await at(page, starts.at(-1) - 1);

  // The slider is one for whoever cannot see it, and takes the same keys.
  const slider = page.getByRole('slider');
  await slider.focus();
  await page.keyboard.press('ArrowRight');
  await at(page, starts.at(-1));
  assert.match((await slider.getAttribute('aria-valuetext')) ?? '', new RegExp(`^Round ${match.round}, after 0`));
  await page.keyboard.press('Home');
  assert.ok((await place(page)).seq <= starts[0]);

  // It plays, at a pace of the reader's, to the end.
  await page.locator(id('replay-speed')).selectOption('16');
  await page.locator(id('replay-play')).focus();
  await page.keyboard.press('Enter');
  await page.locator(`${id('replay')}[data-playing="true"]`).waitFor();
  await until('move', async () => (await place(page)).seq > starts[0]);
  await page.locator(id('result')).waitFor();
  assert.deepEqual(await place(page), { seq: match.seq, playing: false });

  // From the end the space bar begins anew, and holds.
  await page.locator('body').press(' ');
  await page.locator(`${id('replay')}[data-playing="true"]`).waitFor();
  await page.locator('body').press(' ');
  await page.locator(`${id('replay')}[data-playing="false"]`).waitFor();
  await page.keyboard.press('n');
  await until(
    'decisive moment',
    async () => (await page.locator(`${id('replay-where')} b:not(:empty)`).count()) > 0 || (await page.locator(id('result')).count()) > 0,
  );

  // The legend opens and closes; switched off, keys do nothing but leave.
  await page.keyboard.press('?');
  await page.locator(id('legend')).waitFor();
  await page.locator(id('shortcuts')).uncheck();
  await page.locator(id('shortcuts')).blur();
  const before = await place(page);
  await page.keyboard.press('j');
  assert.deepEqual(await place(page), before);
  await page.locator(id('shortcuts')).check();
  await page.locator(id('shortcuts')).blur();
  await page.keyboard.press('Escape');
  await page.locator(id('legend')).waitFor({ state: 'detached' });
  await page.keyboard.press('Escape');
  await page.locator(id('result')).waitFor();
  assert.deepEqual(faults, []);
  await close();
});

test('an address names a moment, and the page gives such addresses', async () => {
  const outcome = events.find((e) => e.type === 'seat_outcome' && e.round === 2);
  const { page, faults, close } = await open(`/m/${match.match_id}?seq=${outcome.seq}`);
  await at(page, outcome.seq);
  await page.locator(`${id('lane')}[data-agent="${outcome.agent_id}"]`).waitFor();
  // What was sealed then is sealed now.
  if (outcome.commitment) await page.locator(`${id('lane')}[data-agent="${outcome.agent_id}"][data-view-state="sealed"]`).waitFor();
  await page.locator(id('replay-link')).click();
  assert.equal(await page.locator(id('copy-text')).inputValue(), `${ORIGIN}/m/${match.match_id}?seq=${outcome.seq}`);
  await page.locator(id('replay-embed')).click();
  assert.match(await page.locator(id('copy-text')).inputValue(), new RegExp(`src="${ORIGIN}/embed/matches/${match.match_id}"`));
  await page.locator(id('back-to-live')).click();
  await page.locator(id('result')).waitFor();
  assert.deepEqual(faults, []);
  await close();
});

test('the frame for other sites holds the whole stage', async () => {
  for (const name of ['m_live_duel', 'm_done_duel', 'm_live_debate', 'm_live_chess', 'm_live_table', 'm_live_arena', 'm_live_large']) {
    const { page, close } = await open(`/m/${name}`);
    await page.locator(id('replay-embed')).click();
    const frame = await page.locator(id('copy-text')).inputValue();
    await close();
    const [, src, width, height] = /src="([^"]*)" width="(\d+)" height="(\d+)"/.exec(frame);
    const site = await open(new URL(src).pathname, { width: Number(width), height: Number(height) });
    await site.settled(`${id('embed')} ${id('stage')}`);
    const needed = await site.page.evaluate(() => document.documentElement.scrollHeight);
    assert.ok(needed <= Number(height), `${name} needs ${needed} of ${height} px`);
    await site.close();
  }
});

test('the graph of the win chance names its swings, and leads to their rounds', async (t) => {
  const closed = (no) => events.find((e) => e.type === 'round_closed' && e.round === no).seq;
  const { page, faults, go, settled, close } = await open(`/m/${match.match_id}`);
  await page.locator(id('replay')).waitFor();
  await page.getByRole('img', { name: 'Win chance of Quill: from 45% to 100%. Largest swing: Round 4.' }).waitFor();
  const swings = page.locator(id('swing'));
  await counted(swings, 3);
  await page.getByRole('button', { name: 'Round 3: win chance of Quill from 76% to 47%' }).focus();
  await page.keyboard.press('Enter');
  await at(page, closed(3));
  await counted(swings, 3, 'the way to the other swings');
  await swings.first().click();
  await at(page, closed(2));

  // One who comes to an earlier moment sees what was known by then.
  await go(`/m/${match.match_id}?seq=${closed(2)}`);
  await settled(ready);
  await counted(swings, 1);

  // It grows with a match, and what is below it stays.
  const own = await recording(t);
  own.to('m_live_duel', (e) => e.type === 'round_started');
  const live = await open('/m/m_live_duel', { origin: own.origin });
  await live.settled(ready);
  await counted(live.page.locator(`${id('course')} svg`), 0);
  const below = await live.page.locator(id('lane')).first().boundingBox();
  own.to('m_live_duel', (e) => e.type === 'round_closed');
  await live.page.locator(`${id('course')} svg`).waitFor();
  assert.deepEqual(await live.page.locator(id('lane')).first().boundingBox(), below);
  for (const path of ['/m/m_done_table', '/m/m_live_arena']) {
    await live.go(path);
    await live.settled(ready);
    await counted(live.page.locator(id('course')), 0);
  }
  assert.deepEqual([...faults, ...live.faults], []);
  await close();
  await live.close();
});

test('a live match is held, wound back, and live again', async (t) => {
  const own = await recording(t);
  own.to('m_live_duel', (e) => e.type === 'round_started' && e.round === 3);
  const { page, faults, close } = await open('/m/m_live_duel', { origin: own.origin });
  await page.locator(ready).waitFor();
  await page.locator(id('replay-play')).click();
  await page.locator(`${id('match-status')}[data-status="replay"]`).waitFor();
  const held = await place(page);
  const { seq } = own.to('m_live_duel', (e) => e.type === 'round_closed' && e.round === 3);
  await page.locator(`${id('match')}[data-seq="${seq}"]`).waitFor();
  assert.deepEqual(await place(page), held);
  await page.keyboard.press('k');
  assert.ok((await place(page)).seq < held.seq);
  await page.locator(id('back-to-live')).click();
  await page.locator(`${id('match-status')}[data-status="replay"]`).waitFor({ state: 'detached' });
  assert.ok((await place(page)).seq >= held.seq);
  assert.deepEqual(faults, []);
  await close();
});

test('a log from an untrusted file plays, whatever is written in it', async () => {
  const evil = '<img src=x onerror=alert(1)><script>alert(2)</script>\u202e\u2066 شبكة "\' ';
  const said = new Set(['name', 'message', 'description', 'answer', 'reasoning', 'topic', 'tool', 'role', 'league', 'correct', 'value']);
  const poisoned = events.map((e) => JSON.stringify(e, (key, v) => (said.has(key) && typeof v === 'string' ? evil + v : v)));
  const { page, faults, close } = await open('/replay');

  // Errors are reported by line.
  await chooseLog(page, poisoned.toSpliced(2, 1, '{"seq":'));
  await page.locator(id('replay-bad'), { hasText: 'Line 3: it is not JSON' }).waitFor();
  assert.equal(await page.locator(id('replay-file')).inputValue(), ''); // else the same file, corrected, would be no change
  await chooseLog(page, poisoned.toSpliced(4, 1));
  await page.locator(id('replay-bad'), { hasText: 'Line 5: "seq" should be 5' }).waitFor();
  await chooseLog(page, []);
  await page.locator(id('replay-problem')).waitFor();
  await counted(page.locator(id('replay')), 0);

  await chooseLog(page, [JSON.stringify({ match: { match_id: match.match_id, league: evil } }), ...poisoned], `${evil}.jsonl`);
  await page.locator(id('replay')).waitFor();
  assert.equal((await place(page)).seq, events.find((e) => e.type === 'round_started').seq);
  for (let n = 1; n < events.length; n++) await page.keyboard.press('ArrowRight');
  await page.locator(id('result')).waitFor();
  for (const cell of await page.locator(id('timeline-round')).all()) await cell.click();
  await counted(page.locator('main script, main img'), 0);
  assert.deepEqual(faults, []);
  await close();

  // A file of the arena itself by its address; one of another site is not asked for.
  const own = await open(`/replay?file=${encodeURIComponent(`/v1/matches/${match.match_id}/events?limit=1000`)}`);
  await own.page.locator(id('replay')).waitFor();
  assert.deepEqual(own.faults, []);
  await own.close();
  for (const foreign of ['https://elsewhere.example/x.jsonl', '//elsewhere.example/x.jsonl']) {
    const other = await open(`/replay?file=${encodeURIComponent(foreign)}`);
    await other.page.locator(id('replay-problem'), { hasText: 'Only files of this arena' }).waitFor();
    assert.deepEqual(other.faults, []);
    await other.close();
  }
});

test('an agent’s page holds what it says against what was measured', async () => {
  const { page, faults, close } = await open(`/a/${match.seats[0].agent_id}`);
  await page.locator(`${id('agent')}[aria-busy="false"]`).waitFor();
  await page
    .locator(`${id('outcomes')} li`)
    .first()
    .waitFor();
  for (const part of ['opponents', 'uptime', 'versions', 'latency']) await page.locator(id(part)).waitFor();
  assert.deepEqual(faults, []);
  await close();
});

test('a page older than the arena’s newest build gets itself a new one', async () => {
  const { page, close } = await open('/');
  await page.locator(`${id('lobby')}[data-ready="true"]`).waitFor();
  await page.evaluate(() => (window.old = true));
  let gone = true;
  page.on('request', (r) => {
    // the page is asked for anew, before any of its parts
    if (r.isNavigationRequest() && r.frame() === page.mainFrame()) gone = false;
  });
  await page.route('**/assets/LeaguesPage*.js', (route) =>
    gone ? route.fulfill({ status: 404, body: 'no such file' }) : route.continue(),
  );
  await page.locator('header nav a[href="/leagues"]').click();
  await page.waitForFunction(() => !('old' in window));
  await page.locator(`${id('page')}[data-page="leagues"] h1`).waitFor();
  await page.locator(id('notice')).waitFor({ state: 'detached' }); // no trouble stays
  await close();
});

test('the pages of a replay fit a phone and a desk, in the dark and in the light', async () => {
  const sealed = events.find((e) => e.type === 'seat_outcome' && e.round === 2);
  const file = encodeURIComponent(`/v1/matches/${match.match_id}/events?limit=1000`);
  await checkPages({
    replay: [`/m/${match.match_id}?seq=${sealed.seq}`, id('back-to-live')],
    'replay-file': ['/replay', id('replay-page')],
    'replay-read': [`/replay?file=${file}`, id('back-to-live')],
    embed: [`/embed/matches/${match.match_id}`, `${id('embed')} ${id('result')}`],
  });
});

test('a winner that lost rating reads why, after the match and in its history', async () => {
  const [winner, loser] = match.seats.map((s) => s.agent_id);
  const last = events.findLast((e) => e.type === 'round_closed').round;
  // Every round but the last counts for the winner alone; the last one goes to the other.
  const lines = events.map((e) => {
    if (e.type === 'round_closed') {
      const both = e.round === last;
      const seat = (s, points, outcome) => ({ ...s, points, outcome });
      e = {
        ...e,
        seats: e.seats.map((s) =>
          s.agent_id === winner ? seat(s, both ? 0 : 1, 'answered') : seat(s, both ? 1 : 0, both ? 'answered' : 'rate_limited'),
        ),
      };
    }
    if (e.type === 'match_finished') {
      const change = (agent_id, rating_delta) => ({ agent_id, rating_before: 1500, rating_after: 1500 + rating_delta, rating_delta });
      e = {
        ...e,
        rated: true,
        seats: e.seats.map((s) => ({ ...s, place: s.agent_id === winner ? 1 : 2 })),
        rating_changes: [change(winner, -20), change(loser, 20)],
      };
    }
    return JSON.stringify(e);
  });
  const { page, faults, close } = await open('/replay');
  await chooseLog(page, lines);
  await page.locator(id('replay')).waitFor();
  for (let n = 1; n < events.length; n++) await page.keyboard.press('ArrowRight');
  const told = await page.locator(id('won-and-fell')).first().textContent();
  assert.match(told, new RegExp(`lost rating points: ${last - 1} rounds? didn’t count for both sides, and .* was behind`));
  assert.deepEqual(faults, []);
  await close();

  const agent = await open('');
  await rewrite(agent.page, `**/v1/agents/${winner}/ratings`, (body) => {
    const at = body.items.toSorted((a, b) => b.rated_matches - a.rated_matches)[0].history;
    Object.assign(at.at(-1), { rounds_left_out: 2 });
    return body;
  });
  await agent.go(`/a/${winner}`);
  await agent.page.locator(`${id('won-and-fell')} li`, { hasText: '2 rounds did not count for both sides' }).waitFor();
  await agent.close();
});

test('an answer card shows the claims of the agent, the token limit, and what follows a final answer', async () => {
  const seats = [
    { agent_id: 'ag_1', name: 'Ada', version: '1' },
    { agent_id: 'ag_2', name: 'شبكة', version: '2' },
  ];
  const answer = {
    answer: 'Canberra',
    confidence: 0.95,
    reasoning: 'Sydney is larger.',
    tokens: 1234,
    latency_ms: 340,
    subagents_used: ['Analyzer', 'Checker'],
    tools_used: Array.from({ length: 9 }, (_, i) => (i ? `tool_${i}` : '<img src=x onerror=alert(1)>'.repeat(9))),
  };
  const [first, second] = seats.map((s) => s.agent_id);
  const lines = logOf([
    { type: 'match_scheduled', league: 'trivia', starts_at: '2026-11-21T18:00:00.000Z', rated: false, seats },
    { type: 'match_started', league: 'trivia', format: 'ladder', visibility: 'live', rated: false, total_rounds: 1, seats },
    {
      type: 'round_started',
      round: 1,
      task: { description: 'What is the capital of Australia?' },
      time_limit_seconds: 30,
      deadline: '2026-11-21T18:00:31.000Z',
    },
    { type: 'tool_call', round: 1, agent_id: first, tool: 'atlas', args: {} },
    { type: 'error', round: 1, agent_id: second, message: 'no memory left', fatal: true },
    { type: 'answer', round: 1, agent_id: first, final: true, value: 'Canberra' },
    { type: 'tool_response', round: 1, agent_id: first, result: 'Canberra', duration_ms: 40 },
    { type: 'answer', round: 1, agent_id: first, final: true, value: 'Sydney' },
    { type: 'thinking', round: 1, agent_id: second, message: 'or is there?' },
    {
      type: 'seat_outcome',
      round: 1,
      agent_id: first,
      outcome: 'answered',
      elapsed_ms: 4200,
      attempts: 1,
      over_max_tokens: true,
      ...answer,
    },
    { type: 'seat_outcome', round: 1, agent_id: second, outcome: 'timeout', elapsed_ms: 30000, attempts: 1 },
    {
      type: 'round_closed',
      round: 1,
      correct: 'Canberra',
      seats: [
        { agent_id: first, answer: 'Canberra', points: 1, outcome: 'answered', over_max_tokens: true, elapsed_ms: 4200 },
        { agent_id: second, answer: null, points: 0, outcome: 'timeout', elapsed_ms: 30000 },
      ],
      standings: seats.map((s, i) => ({ agent_id: s.agent_id, points: 1 - i, place: 1 + i, state: 'active' })),
    },
    {
      type: 'match_finished',
      league: 'trivia',
      rated: false,
      seats: seats.map((s, i) => ({ ...s, points: 1 - i, place: 1 + i, state: 'active' })),
      rating_changes: [],
    },
  ]);
  for (const [width, height] of [
    [1440, 900],
    [390, 844],
  ]) {
    for (const theme of ['dark', 'light']) {
      const { page, faults, close } = await open('/replay', { width, height, theme });
      await chooseLog(page, lines);
      await page.locator(id('replay')).waitFor();
      for (let n = 1; n < lines.length; n++) await page.keyboard.press('ArrowRight');
      await page.locator(id('result')).waitFor();
      await page.locator(id('timeline-round')).first().click();
      for (let n = 3; n < lines.length - 1; n++) await page.keyboard.press('ArrowRight');
      const [answered, silent] = [first, second].map((agent) => page.locator(`${id('lane')}[data-agent="${agent}"] ${id('answer')}`));
      await answered.locator(id('claims')).waitFor();
      const claims = await answered.locator(id('claims')).innerText();
      for (const claim of ['claims', '95', '1,234 tokens', 'tool_5, 3 more', 'Analyzer, Checker'])
        assert.ok(claims.includes(claim), `${claim} in ${claims}`);
      assert.match(await answered.locator(id('claimed-time')).innerText(), /claims 0\.3 s/);
      assert.match(await answered.locator(id('over-tokens')).innerText(), /token limit/);
      assert.match(await answered.locator(id('card-closing')).innerText(), /final.*2 events after that/);
      assert.match(await silent.locator(id('card-closing')).innerText(), /fatal error.*1 event after that/);
      await fits(page, `answer card at ${width}`);
      assert.deepEqual(faults, []);
      if (SCREENS) {
        await answered.scrollIntoViewIfNeeded();
        await page.screenshot({ path: `${SCREENS}/answer-card-${width}-${theme}.png`, animations: 'disabled' });
        await answered.screenshot({ path: `${SCREENS}/answer-card-only-${width}-${theme}.png`, animations: 'disabled' });
      }
      await close();
    }
  }
});
