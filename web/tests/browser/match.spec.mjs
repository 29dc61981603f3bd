// Watches a running arena as a spectator does, in headless Chromium:
//
//   ARENA_URL=http://127.0.0.1:8080 [SCREENS_DIR=…] node --test tests/browser/match.spec.mjs
//
// The arena must be playing: duels, and a match of nine seats or more. With
// ARENA_ADMIN_TOKEN the test starts a duel itself when none is on.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';

const ORIGIN = process.env.ARENA_URL?.replace(/\/$/, '');
const ADMIN = process.env.ARENA_ADMIN_TOKEN;
const SCREENS = process.env.SCREENS_DIR;
const PATIENCE = 180_000; // a whole match
const SIZES = [{ width: 1440, height: 900 }, { width: 390, height: 844 }];
const THEMES = ['dark', 'light'];

if (!ORIGIN) throw new Error('ARENA_URL is not set');
if (SCREENS) mkdirSync(SCREENS, { recursive: true });

let browser;
before(async () => {
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
});
after(() => browser?.close());

async function api(path, init) {
  const res = await fetch(ORIGIN + path, init);
  assert.equal(res.ok, true, `${path}: ${res.status}`);
  return res.json();
}

/** Registers an agent as an owner would; its endpoint only answers health checks. */
async function register(t, name) {
  const server = createServer((_, res) => {
    res.setHeader('Content-Type', 'application/json');
    res.end('{"status":"ok","version":"1.0","capabilities":[]}');
  });
  await new Promise((r) => server.listen(0, '127.0.0.1', r));
  t.after(() => server.close());
  const post = (path, body, token) =>
    api(path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...(token && { Authorization: `Bearer ${token}` }) },
      body: JSON.stringify(body),
    });
  const { token } = await post('/v1/owners', { name: `owner ${Date.now()}` });
  return post('/v1/agents', { name, endpoint: `http://127.0.0.1:${server.address().port}/agora`, leagues: [] }, token);
}

const id = (name) => `[data-testid="${name}"]`;

/** A page that writes down everything that should not happen on it. */
async function open(path, { width = 1440, height = 900, theme = 'dark', ...options } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, locale: 'en', ...options });
  const page = await context.newPage();
  const faults = [];
  page.on('console', (m) => ['error', 'warning'].includes(m.type()) && faults.push(`${m.type()}: ${m.text()}`));
  page.on('pageerror', (e) => faults.push(`threw: ${e.message}`));
  page.on('dialog', (d) => (faults.push(`dialog: ${d.message()}`), d.dismiss()));
  page.on('request', (r) => r.url().startsWith(ORIGIN) || r.url().startsWith('data:') || faults.push(`foreign request: ${r.url()}`));
  await page.goto(ORIGIN + path);
  return { page, faults, close: () => context.close() };
}

/** Asks again until there is something; a timing decides nothing but giving up. */
async function until(what, find, patience = 60_000) {
  const end = Date.now() + patience;
  for (;;) {
    const found = await find();
    if (found) return found;
    assert.ok(Date.now() < end, `there is no ${what}`);
    await new Promise((r) => setTimeout(r, 300));
  }
}

const running = async () => (await api('/v1/matches?status=running&limit=50')).items;

async function startDuel() {
  if (!ADMIN) return;
  const leagues = (await api('/v1/leagues')).items.filter((l) => l.min_seats <= 2 && ['open', 'running'].includes(l.status));
  for (const league of leagues) {
    const agents = (await api(`/v1/agents?league=${league.slug}&limit=100`)).items.filter((a) => a.status === 'active');
    if (agents.length < 2) continue;
    const res = await fetch(`${ORIGIN}/v1/matches`, {
      method: 'POST', headers: { authorization: `Bearer ${ADMIN}`, 'content-type': 'application/json' },
      body: JSON.stringify({ league: league.slug, agents: agents.slice(0, 2).map((a) => a.agent_id) }),
    });
    if (res.ok) return;
  }
}

test('a spectator follows a match from the lobby to its result', { timeout: 2 * PATIENCE }, async () => {
  if (!(await running()).some((m) => m.seats.length === 2)) await startDuel();
  const { page, faults, close } = await open('/');
  await page.locator(`${id('lobby')}[data-ready="true"]`).waitFor();

  // Any duel that the lobby shows and that has rounds to come.
  const link = await until('live duel in the lobby', async () => {
    for (const match of await running()) {
      if (match.seats.length !== 2 || (match.total_rounds && match.round >= match.total_rounds)) continue;
      const stage = page.locator(`${id('stage')}[data-match="${match.match_id}"] ${id('watch')}`);
      const small = page.locator(`${id('live-match')}[data-match="${match.match_id}"]`);
      if (await stage.count()) return stage;
      if (await small.count()) return small.first();
    }
    return undefined;
  });
  await link.click();

  const match = page.locator(`${id('match')}[data-ready="true"]`);
  await match.waitFor();
  await page.locator(id('layout-duel')).waitFor();
  assert.equal(await page.locator(id('lane')).count(), 2);
  await page.locator(id('task')).first().waitFor();

  await page.locator(`${id('match-status')}[data-status="finished"], ${id('match-status')}[data-status="void"]`).waitFor({ timeout: PATIENCE });
  await page.locator(id('result')).waitFor();
  const snapshot = await api(`/v1/matches/${await match.getAttribute('data-match')}`);
  if (snapshot.status === 'finished') {
    assert.equal(await page.locator(id('result-seat')).count(), 2);
    assert.equal(await page.locator(id('timeline-round')).count(), snapshot.round);
    const score = await Promise.all(['score-a', 'score-b'].map((s) => page.locator(`${id(s)} .unseen`).textContent()));
    assert.deepEqual(score.map(Number), snapshot.seats.map((s) => s.points));
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
  await until('whole log', async () => Number(await match.getAttribute('data-seq')) === late.seq, 10_000);
  assert.equal(await page.locator(id('timeline-round')).count(), late.round);
  assert.deepEqual(faults, []);
  await close();
});

test('what agents call themselves is text', async (t) => {
  const hostile = await register(t, '<script>alert(1)</script>');
  const { page, faults, close } = await open(`/a/${hostile.agent_id}`);
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
  const duel = await until('duel', async () => {
    const all = [...(await running()), ...(await api('/v1/matches?status=finished&limit=50')).items];
    return all.find((m) => m.seats.length === 2 && m.round > 0);
  }, PATIENCE);
  const arena = await until('match of nine seats or more', async () => {
    const leagues = (await api('/v1/leagues')).items.filter((l) => l.max_seats >= 9);
    const lists = await Promise.all(leagues.map((l) => api(`/v1/matches?league=${l.slug}&status=running,finished&limit=20`)));
    const all = lists.flatMap((l) => l.items);
    return all.find((m) => m.seats.length >= 9 && m.round > 0);
  }, 2 * PATIENCE);
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
  for (const [name, [path, ready]] of Object.entries(await pages())) {
    for (const size of [...SIZES, { width: 360, height: 740 }]) {
      for (const theme of THEMES) {
        const { page, faults, close } = await open(path, { ...size, theme });
        await page.locator(ready).first().waitFor();
        await page.evaluate(() => document.fonts.ready);
        await page.waitForLoadState('networkidle').catch(() => {});
        const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        assert.ok(over <= 0, `${name} is ${over} px too wide at ${size.width}`);
        assert.deepEqual(faults, [], `${name} at ${size.width}, ${theme}`);
        if (SCREENS && size.width !== 360) await page.screenshot({ path: `${SCREENS}/${name}-${size.width}-${theme}.png` });
        await close();
      }
    }
  }
});
