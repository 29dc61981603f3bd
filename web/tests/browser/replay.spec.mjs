// Winds matches of a running arena through time, in headless Chromium, and
// looks at what stands beside them: files, frames, agents' pages.
//
//   scripts/browser-test.sh replay.spec.mjs
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { serve } from '../../scripts/fixture-server.mjs';
import { world } from '../../scripts/fixture-world.mjs';
import { api, checkPages, chooseLog, fits, heldDuel, id, logOf, open, ORIGIN, PATIENCE, rewrite, SCREENS, until } from './kit/kit.mjs';

const ready = `${id('match')}[data-ready="true"]`;

/** A finished duel with a few rounds, which moved ratings: no sparring of other tests, whose agents come and go. */
const duel = () =>
  until(
    'finished duel',
    async () => {
      const asking = (await api('/v1/leagues')).items.filter((l) => !l.debate && !l.game);
      const lists = await Promise.all(asking.map((l) => api(`/v1/matches?status=finished&league=${l.slug}&limit=20`)));
      return lists
        .flatMap((l) => l.items)
        .find((m) => m.seats.length === 2 && m.round >= 3 && m.seats.every((s) => s.rating_delta !== undefined));
    },
    PATIENCE,
  );

async function log(matchId) {
  const events = [];
  for (;;) {
    const part = (await api(`/v1/matches/${matchId}/events?since=${events.at(-1)?.seq ?? 0}&limit=1000`)).items;
    if (!part.length) return events;
    events.push(...part);
  }
}

/** What the bar says of where it stands. */
const place = async (page) => {
  const bar = page.locator(id('replay'));
  return { seq: Number(await bar.getAttribute('data-seq')), playing: (await bar.getAttribute('data-playing')) === 'true' };
};
const at = (page, seq) => page.locator(`${id('replay')}[data-seq="${seq}"]`).waitFor();

test('a replay by keyboard alone', { timeout: PATIENCE }, async () => {
  const match = await duel();
  const events = await log(match.match_id);
  const starts = events.filter((e) => e.type === 'round_started').map((e) => e.seq);
  const { page, faults, close } = await open(`/m/${match.match_id}`);
  await page.locator(ready).waitFor();
  await page.locator(id('replay')).waitFor();

  await page.keyboard.press('k');
  await at(page, starts.at(-1));
  await page.locator(`${id('match-status')}[data-status="replay"]`).waitFor();
  assert.equal(await page.locator(id('result')).count(), 0);
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
  await page.locator(id('result')).waitFor({ timeout: PATIENCE });
  assert.deepEqual(await place(page), { seq: match.seq, playing: false });

  // From the end the space bar begins anew, and holds.
  await page.locator('body').press(' ');
  await page.locator(`${id('replay')}[data-playing="true"]`).waitFor();
  await page.locator('body').press(' ');
  await page.locator(`${id('replay')}[data-playing="false"]`).waitFor();
  await page.keyboard.press('n');
  await until(
    'decisive moment',
    async () => (await page.locator(`${id('replay-where')} b`).count()) > 0 || (await page.locator(id('result')).count()) > 0,
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
  const match = await duel();
  const outcome = (await log(match.match_id)).find((e) => e.type === 'seat_outcome' && e.round === 2);
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

test('a live match is held, wound back, and live again', { timeout: 2 * PATIENCE }, async (t) => {
  const { match_id, letGo } = await heldDuel(t, 'Held', 3, { rounds: 5, time_limit_seconds: 300, rated: false });
  await until('third round', async () => (await api(`/v1/matches/${match_id}`)).round === 3);
  const { page, faults, close } = await open(`/m/${match_id}`);
  await page.locator(ready).waitFor();
  await page.locator(id('replay-play')).click();
  await page.locator(`${id('match-status')}[data-status="replay"]`).waitFor();
  const held = await place(page);
  letGo();
  await until('new event of the match', async () => Number(await page.locator(id('match')).getAttribute('data-seq')) > held.seq);
  assert.deepEqual(await place(page), held);
  await page.keyboard.press('k');
  assert.ok((await place(page)).seq < held.seq);
  await page.locator(id('back-to-live')).click();
  await page.locator(`${id('match-status')}[data-status="replay"]`).waitFor({ state: 'detached' });
  assert.ok((await place(page)).seq >= held.seq);
  assert.deepEqual(faults, []);
  await close();
});

test('a log from an untrusted file plays, whatever is written in it', { timeout: PATIENCE }, async () => {
  const match = await duel();
  const events = await log(match.match_id);
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
  assert.equal(await page.locator(id('replay')).count(), 0);

  await chooseLog(page, [JSON.stringify({ match: { match_id: match.match_id, league: evil } }), ...poisoned], `${evil}.jsonl`);
  await page.locator(id('replay')).waitFor();
  assert.equal((await place(page)).seq, events.find((e) => e.type === 'round_started').seq);
  for (let n = 1; n < events.length; n++) await page.keyboard.press('ArrowRight');
  await page.locator(id('result')).waitFor();
  for (const cell of await page.locator(id('timeline-round')).all()) await cell.click();
  assert.equal(await page.locator('main script, main img').count(), 0);
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

test('the stage stands in a frame of another site, and nothing else does', async (t) => {
  const match = await duel();
  const site = createServer((req, res) => {
    res.setHeader('Content-Type', 'text/html');
    res.end(
      `<!doctype html><title>elsewhere</title><iframe name="f" width="640" height="400" src="${ORIGIN}${decodeURIComponent(req.url.slice(1))}"></iframe>`,
    );
  });
  await new Promise((r) => site.listen(0, '127.0.0.1', r));
  t.after(() => site.close());
  const origin = `http://localhost:${site.address().port}`; // another site than 127.0.0.1
  const { page, faults, close } = await open(`/${encodeURIComponent(`/embed/matches/${match.match_id}`)}`, { origin });
  const frame = page.frameLocator('iframe');
  await frame.locator(id('embed')).waitFor();
  await frame.locator(id('result')).waitFor();
  assert.equal(await frame.locator('header nav').count(), 0);
  assert.deepEqual(
    faults.filter((f) => !f.startsWith(`foreign request: ${ORIGIN}`)),
    [],
  );
  // A link leads out of the frame.
  const [tab] = await Promise.all([page.context().waitForEvent('page'), frame.locator(id('watch')).click()]);
  await tab.waitForURL(`${ORIGIN}/m/${match.match_id}`);
  await frame.locator(id('embed')).waitFor();
  await close();

  for (const path of [`/m/${match.match_id}`, '/console', '/']) {
    const refused = await open(`/${encodeURIComponent(path)}`, { origin });
    await until('refusal', () => refused.faults.some((f) => f.includes('frame-ancestors')));
    assert.equal(await refused.page.frameLocator('iframe').locator('#app').count(), 0);
    await refused.close();
  }
});

test('a link to a match brings its picture and its words', async () => {
  const match = await duel();
  const page = await (await fetch(`${ORIGIN}/m/${match.match_id}`)).text();
  const image = /<meta property="og:image" content="([^"]+)"/.exec(page)?.[1];
  assert.ok(image?.endsWith(`/v1/matches/${match.match_id}/card.png`), image);
  assert.match(page, /<meta property="og:title" content="[^"<>]+ v [^"<>]+"/);
  const card = await fetch(`${ORIGIN}${new URL(image).pathname}`);
  assert.equal(card.headers.get('content-type'), 'image/png');
  assert.deepEqual([...new Uint8Array(await card.arrayBuffer()).slice(1, 4)], [...Buffer.from('PNG')]);
  assert.equal((await (await fetch(`${ORIGIN}/leagues`)).text()).includes('og:image'), false);
});

test('an agent’s page holds what it says against what was measured', { timeout: PATIENCE }, async () => {
  const agent = (await duel()).seats[0].agent_id;
  const { page, faults, close } = await open(`/a/${agent}`);
  await page.locator(`${id('agent')}[aria-busy="false"]`).waitFor();
  const first = page.locator(`${id('outcomes')} li`).first();
  await first.waitFor();
  const results = await api(`/v1/agents/${agent}/outcomes`);
  assert.ok(results.rounds > 0 && results.items.reduce((n, r) => n + r.rounds, 0) === results.rounds);
  for (const part of ['opponents', 'uptime', 'versions', 'latency']) await page.locator(id(part)).waitFor();
  const opponents = (await api(`/v1/agents/${agent}/opponents`)).items;
  assert.ok((await page.locator(`${id('opponents')} tbody tr`).count()) <= opponents.length);
  assert.deepEqual(faults, []);
  await close();
});

test('a page that lost its server says so, and recovers when it is back', { timeout: PATIENCE }, async () => {
  const w = world();
  let server = await serve(0, w);
  const port = server.address().port;
  const origin = `http://127.0.0.1:${port}`;
  try {
    const { page, close } = await open('/m/m_live_duel', { origin });
    await page.locator(ready).waitFor();
    await page.locator(`${id('link')}[data-link="live"]`).waitFor({ state: 'attached' });
    const seq = () => page.locator(id('match')).getAttribute('data-seq').then(Number);
    const before = await seq();
    server.stop();
    await page.locator(`${id('link')}[data-link="lost"]`, { hasText: 'connection lost' }).waitFor();
    server = await serve(port, w);
    await until('recovery', async () => ['live', 'ended'].includes(await page.locator(id('link')).getAttribute('data-link')));
    await until('next event', async () => (await seq()) > before);
    await close();
  } finally {
    server.stop();
  }
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

test('the pages of a replay fit a phone and a desk, in the dark and in the light', { timeout: 4 * PATIENCE }, async () => {
  const match = await duel();
  const sealed = (await log(match.match_id)).find((e) => e.type === 'seat_outcome' && e.round === 2);
  const events = encodeURIComponent(`/v1/matches/${match.match_id}/events?limit=1000`);
  await checkPages({
    replay: [`/m/${match.match_id}?seq=${sealed.seq}`, id('back-to-live')],
    'replay-file': ['/replay', id('replay-page')],
    'replay-read': [`/replay?file=${events}`, id('back-to-live')],
    embed: [`/embed/matches/${match.match_id}`, `${id('embed')} ${id('result')}`],
  });
});

test('a winner that lost rating reads why, after the match and in its history', { timeout: PATIENCE }, async () => {
  const match = await duel();
  const [winner, loser] = match.seats.map((s) => s.agent_id);
  const events = await log(match.match_id);
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

  const agent = await open('about:blank', { origin: '' });
  await rewrite(agent.page, `**/v1/agents/${winner}/ratings`, (body) => {
    const at = body.items.toSorted((a, b) => b.rated_matches - a.rated_matches)[0].history;
    Object.assign(at.at(-1), { rounds_left_out: 2 });
    return body;
  });
  await agent.page.goto(`${ORIGIN}/a/${winner}`);
  await agent.page.locator(`${id('won-and-fell')} li`, { hasText: '2 rounds did not count for both sides' }).waitFor();
  await agent.close();
});

test('an answer card shows the claims of the agent, the token limit, and what follows a final answer', { timeout: PATIENCE }, async () => {
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
