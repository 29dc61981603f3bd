// Watches a running arena as a spectator does, in headless Chromium:
//
//   scripts/browser-test.sh match.spec.mjs
//
// The arena must be playing: duels, and a match of nine seats or more. With
// ARENA_ADMIN_TOKEN the test starts a duel itself when none is on.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ADMIN,
  api,
  checkPages,
  fake,
  heldDuel,
  id,
  once,
  open,
  ORIGIN,
  pair,
  PATIENCE,
  register,
  send,
  until,
  WRONG,
} from './kit/kit.mjs';

const running = async () => (await api('/v1/matches?status=running&limit=50')).items;

/** Leagues whose duels are questions; a debate has a page of its own. */
const asking = async () => (await api('/v1/leagues')).items.filter((l) => !l.debate && !l.game).map((l) => l.slug);

async function startDuel() {
  if (!ADMIN) return;
  const leagues = (await api('/v1/leagues')).items.filter(
    (l) => l.min_seats <= 2 && !l.debate && !l.game && l.format === 'ladder' && ['open', 'running'].includes(l.status),
  );
  for (const league of leagues) {
    const agents = (await api(`/v1/agents?league=${league.slug}&limit=100`)).items.filter((a) => a.status === 'active');
    if (agents.length < 2) continue;
    if ((await send('POST', '/v1/matches', { league: league.slug, agents: agents.slice(0, 2).map((a) => a.agent_id) })).ok) return;
  }
}

test('a spectator follows a match from the lobby to its result', { timeout: 2 * PATIENCE }, async () => {
  const plain = await asking();
  if (!(await running()).some((m) => m.seats.length === 2 && plain.includes(m.league))) await startDuel();
  const { page, faults, close } = await open('/');
  await page.locator(`${id('lobby')}[data-ready="true"]`).waitFor();

  // Any duel that the lobby shows and that has rounds to come. The lobby changes while one aims: then at another.
  await until('live duel in the lobby', async () => {
    for (const match of await running()) {
      if (match.seats.length !== 2 || !plain.includes(match.league) || (match.total_rounds && match.round >= match.total_rounds)) continue;
      const link = page
        .locator(`${id('stage')}[data-match="${match.match_id}"] ${id('watch')}, ${id('live-match')}[data-match="${match.match_id}"]`)
        .first();
      if (
        (await link.count()) &&
        (await link.click({ timeout: 2_000 }).then(
          () => true,
          () => false,
        ))
      )
        return true;
    }
    return false;
  });

  const match = page.locator(`${id('match')}[data-ready="true"]`);
  await match.waitFor();
  await page.locator(id('layout-duel')).waitFor();
  assert.equal(await page.locator(id('lane')).count(), 2);
  await page.locator(id('task')).first().waitFor();

  await page
    .locator(`${id('match-status')}[data-status="finished"], ${id('match-status')}[data-status="void"]`)
    .waitFor({ timeout: PATIENCE });
  await page.locator(id('result')).waitFor();
  const snapshot = await api(`/v1/matches/${await match.getAttribute('data-match')}`);
  if (snapshot.status === 'finished') {
    assert.equal(await page.locator(id('result-seat')).count(), 2);
    assert.equal(await page.locator(id('timeline-round')).count(), snapshot.round);
    const score = await Promise.all(['score-a', 'score-b'].map((s) => page.locator(`${id(s)} .unseen`).textContent()));
    assert.deepEqual(
      score.map(Number),
      snapshot.seats.map((s) => s.points),
    );
    assert.notEqual((await page.locator(id('announce')).textContent())?.trim(), '');

    // Back in time, and forward again.
    await page.locator(id('timeline-round')).first().click();
    await page.locator(id('back-to-live')).waitFor();
    assert.equal(await page.locator(id('result')).count(), 0);
    await page.locator(id('back-to-live')).click();
    await page.locator(id('result')).waitFor();
  }
  assert.equal(Number(await match.getAttribute('data-seq')), snapshot.seq);
  assert.deepEqual(faults, []);
  await close();
});

test('a finished match shows its end and its whole log to one who comes late', async () => {
  const late = await until('finished match', async () => (await api('/v1/matches?status=finished&limit=1')).items[0], PATIENCE);
  const { page, faults, close } = await open(`/m/${late.match_id}`);
  const match = page.locator(`${id('match')}[data-ready="true"]`);
  await match.waitFor();
  await page.locator(id('result')).waitFor();
  await until('whole log', async () => Number(await match.getAttribute('data-seq')) === late.seq);
  assert.equal(await page.locator(id('timeline-round')).count(), late.round);
  assert.deepEqual(faults, []);
  await close();
});

test('a delayed match says so, and nothing of it comes before its time', { timeout: PATIENCE }, async (t) => {
  // The second round stays open until the first one has been shown.
  const { match_id, letGo } = await heldDuel(t, 'Later', 2, { rounds: 2, time_limit_seconds: 30, rated: true, visibility: 'delayed:3' });
  const { page, faults, close } = await open('/');
  const early = [];
  let told = 0;
  page.on(
    'websocket',
    (socket) =>
      socket.url().includes(match_id) &&
      socket.on('framereceived', ({ payload }) => {
        for (const e of String(payload)
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line))) {
          if (!e.seq || !e.ts || ['match_scheduled', 'match_finished'].includes(e.type)) continue;
          told++;
          if (Date.now() - Date.parse(e.ts) < 3000) early.push(e);
        }
      }),
  );
  await page.goto(new URL(`/m/${match_id}`, page.url()).href);
  await page.locator(id('delayed'), { hasText: '3 s' }).waitFor();
  await page.locator(id('timeline-round')).nth(1).waitFor();
  assert.ok(told > 0, 'it heard nothing before the end');
  letGo();
  await page.locator(id('result')).waitFor();
  assert.deepEqual(early, []);
  const [last] = (await api(`/v1/matches/${match_id}/rounds?since=1`)).items;
  assert.ok(
    Date.parse((await api(`/v1/matches/${match_id}`)).finished_at) - Date.parse(last.closed_at) >= 3000,
    'it was settled too early',
  );
  assert.deepEqual(faults, []);
  await close();
});

test('the commentary states a closed round, and the browser keeps the choice to hide it', { timeout: PATIENCE }, async (t) => {
  // Both answers of the first round are wrong; the second round stays open.
  const { match_id, letGo } = await heldDuel(t, 'Caption', 2, { rounds: 3, time_limit_seconds: 60, rated: true, visibility: 'sealed' });
  const { page, faults, close } = await open(`/m/${match_id}`);
  const caption = page.locator(id('caption'));
  await page.locator(`${id('caption')}[data-rule="nobody"]`).waitFor();
  await caption.filter({ hasText: 'No points for anyone in this round.' }).waitFor();
  assert.equal(await caption.getAttribute('aria-live'), 'off'); // the page itself says that the round is over
  const { height } = await caption.locator('..').boundingBox();

  await page.locator(id('captions')).click();
  assert.equal((await caption.textContent())?.trim(), '');
  assert.equal(await page.locator(id('captions')).getAttribute('aria-pressed'), 'false');
  assert.equal((await caption.locator('..').boundingBox()).height, height, 'hiding it moves the page');
  await page.reload();
  await page.locator(`${id('caption')}[data-rule="nobody"]`).waitFor({ state: 'attached' });
  assert.equal((await caption.textContent())?.trim(), '');

  await page.locator(id('captions')).click();
  letGo();
  await page
    .locator(`${id('caption')}[data-rule="draw"]`)
    .filter({ hasText: 'A draw at 0–0.' })
    .waitFor();
  assert.deepEqual(faults, []);
  await close();
});

test('a sealed round shows what agents do, who has locked in, and no code', { timeout: PATIENCE }, async (t) => {
  const slug = `sealed-${once()}`;
  assert.equal(
    (
      await send('POST', '/v1/leagues', {
        slug,
        title: 'Sealed',
        generator: { name: 'arithmetic' },
        judge: 'number',
        rounds: 2,
        time_limit_seconds: 60,
        rated: true,
        visibility: 'sealed',
      })
    ).status,
    201,
  );
  let letGo;
  const gone = new Promise((resolve) => (letGo = resolve));
  let asked = 0;
  const agents = await pair(t, slug, async (_, { authorization }) => {
    const waits = asked++ % 2 === 1;
    const body = '{"type":"thinking","message":"a secret"}\n{"type":"tool_call","tool":"abacus","args":{"with":"a secret"}}\n';
    const sent = await fetch(`${ORIGIN}/v1/stream`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/x-ndjson' },
      body,
    });
    assert.equal(sent.ok, true, `events: ${sent.status}`);
    if (waits) await gone;
    return { answer: WRONG };
  });
  const { match_id } = await api('/v1/matches', { method: 'POST', token: ADMIN, body: { league: slug, agents: agents.map((a) => a.id) } });
  const { page, faults, go, settled, close } = await open(`/m/${match_id}`);

  // One has locked in, the other one is waited for.
  await page.locator(`${id('lock-ins')}[data-locked="1"][data-waiting="1"]`).waitFor();
  const [locked, waiting] = ['[data-view-state="sealed"]', '[data-view-state="tool"]'].map((state) =>
    page.locator(`${id('lane')}${state}`),
  );
  await locked.waitFor();
  await waiting.waitFor();
  assert.match(await locked.innerText(), /Locked in after \d/i);
  assert.match(await waiting.locator(id('activity')).innerText(), /abacus.*1 thought/);
  const clock = waiting.locator(id('lane-clock'));
  const before = await clock.textContent();
  await until('second on the clock', async () => (await clock.textContent()) !== before);
  assert.equal(await page.locator(id('lane-clock')).count(), 1);
  const odds = page.locator(`${id('odds')}[data-kind="chance"][data-first="0.500"]`);
  await odds.waitFor();
  const text = await page.locator('main').innerText();
  assert.doesNotMatch(text, /secret|[0-9a-f]{16}|[0-9a-f]{6}…/);

  // The commitment is a tooltip, and in the details.
  await locked.locator(`${id('proof')} summary`).click();
  const hash = await locked.locator(`${id('proof')} ${id('commitment')}`).innerText();
  assert.match(hash, /^[0-9a-f]{64}$/);
  assert.match((await locked.locator(`[title*="${hash}"]`).first().getAttribute('title')) ?? '', /Sealed as/);

  letGo();
  await page.locator(id('result')).waitFor();
  await page.locator(`${id('odds')}[data-kind="result"]`).waitFor();
  assert.match(await page.locator(id('lane')).first().innerText(), /a secret/);
  for (const move of await page.locator(`${id('result')} ${id('rating-move')}`).allInnerTexts())
    assert.match(move.replaceAll(/\s+/g, ' '), /^1500 → 1500 ±372 ±0$/);

  // Back at the first round nothing of the second one is known.
  const events = (await api(`/v1/matches/${match_id}/events?limit=1000`)).items;
  await go(`/m/${match_id}?seq=${events.find((e) => e.type === 'seat_outcome').seq}`);
  await settled(`${id('lock-ins')}[data-locked="1"][data-waiting="1"]`);
  await odds.waitFor();
  assert.equal(await page.locator(id('result')).count(), 0);
  assert.doesNotMatch(await page.locator('main').innerText(), /secret|±372/);
  assert.equal(await page.locator(id('timeline-round')).nth(1).getAttribute('aria-label'), 'Round 2: not shown yet');

  await go(`/a/${agents[0].id}`);
  await settled(id('agent-rating'));
  assert.match((await page.locator(id('agent-rating')).innerText()).replaceAll(/\s+/g, ' '), /^1500 ±372$/);
  assert.deepEqual(faults, []);
  await close();
});

test('what agents call themselves is text', async (t) => {
  const { endpoint } = await fake(t);
  const hostile = await register({ name: '<script>alert(1)</script>', endpoint, leagues: [] });
  const { page, faults, close } = await open(`/a/${hostile.id}`);
  const title = page.locator(`${id('agent')} h1`, { hasText: '<script' });
  await title.waitFor();
  assert.equal((await title.textContent())?.trim(), hostile.name);
  assert.equal(await page.locator('main script').count(), 0);
  assert.deepEqual(faults, []);
  await close();
});

test('the keyboard reaches everything, and choices are kept', async () => {
  const { page, faults, close } = await open('/');
  await page.locator(`${id('lobby')}[data-ready="true"]`).waitFor();
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('href')), '#main');
  await page.locator(id('theme')).focus();
  await page.keyboard.press('Enter');
  await page.locator(id('language')).focus();
  await page.keyboard.press('Enter');
  await page.locator('html[lang="es"]').waitFor();
  await page.reload();
  await page.locator('html[lang="es"][data-theme="light"]').waitFor();
  await page.locator('header nav a[href="/leagues"]').focus();
  await page.keyboard.press('Enter');
  await page.locator(`${id('page')}[data-page="leagues"]:focus`).waitFor();
  assert.deepEqual(faults, []);
  await close();
});

test('an address that is nothing says so', async () => {
  for (const path of ['/nowhere', '/m/m_00000000000000000000000000', '/a/ag_00000000000000000000000000', '/l/no-such-league']) {
    const { page, close } = await open(path);
    await page.locator(`${id('notice')}[data-kind="missing"]`).waitFor();
    await close();
  }
});

async function pages() {
  const plain = await asking();
  const duel = await until(
    'duel',
    async () => {
      const all = [...(await running()), ...(await api('/v1/matches?status=finished&limit=100')).items];
      return all.find((m) => m.seats.length === 2 && m.round > 0 && plain.includes(m.league));
    },
    PATIENCE,
  );
  const arena = await until(
    'match of nine seats or more',
    async () => {
      const leagues = (await api('/v1/leagues')).items.filter((l) => l.max_seats >= 9);
      const lists = await Promise.all(leagues.map((l) => api(`/v1/matches?league=${l.slug}&status=running,finished&limit=20`)));
      const all = lists.flatMap((l) => l.items);
      return all.find((m) => m.seats.length >= 9 && m.round > 0);
    },
    2 * PATIENCE,
  );
  const agent = duel.seats[0].agent_id;
  return {
    lobby: ['/', `${id('lobby')}[data-ready="true"]`],
    duel: [`/m/${duel.match_id}`, `${id('match')}[data-ready="true"]`],
    arena: [`/m/${arena.match_id}`, `${id('match')}[data-ready="true"] ${id('layout-arena')}`],
    league: [`/l/${duel.league}`, `${id('standings')}, ${id('league')}[aria-busy="false"]`],
    leaderboard: ['/leaderboard', id('leaderboard')],
    agent: [`/a/${agent}`, `${id('agent')}[aria-busy="false"]`],
  };
}

test('every page fits a phone and a desk, in the dark and in the light', { timeout: 4 * PATIENCE }, async () => {
  await checkPages(await pages());
});
