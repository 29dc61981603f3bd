// What the pages cost a reader, against web/budgets.json: bytes and requests of
// a cold visit, and layout shift while recorded matches are played. Each page is
// opened once for all of it.
//
//   scripts/browser-test.sh budget.spec.mjs
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { chooseLog, id, logOf, open } from './kit/kit.mjs';
import { recording, shared } from './kit/recording.mjs';

const BUDGETS = JSON.parse(readFileSync(new URL('../../budgets.json', import.meta.url), 'utf8'));
const PHONE = { width: 390, height: 844 };
/** What agents do decides about its bytes: the arena's data, and the fonts of the tools that agents name and of rare letters. */
const CONTENT = /^\/v1\/|\/jetbrains-mono-|-latin-ext-/;

/** Where something moves while a match is played; a phone has another layout. */
const LIVE = ['lobby', 'duel', 'arena', 'board', 'cards', 'embed', 'tv', 'league'];

const ready = (name) => `${id(name)}[data-ready="true"]`;
/** Every kind of page with its address and what it shows when it is ready. */
const PAGES = {
  lobby: ['/', ready('lobby')],
  duel: ['/m/m_live_duel', ready('match')],
  arena: ['/m/m_live_arena', ready('match')],
  board: ['/m/m_live_connect_four', ready('match')],
  cards: ['/m/m_live_kuhn_poker', ready('match')],
  result: ['/m/m_done_duel', ready('match')],
  embed: ['/embed/matches/m_live_duel', id('embed')],
  tv: ['/tv', ready('tv-match')],
  matches: ['/matches', `${id('matches')}[data-address]`],
  schedule: ['/schedule', `${id('schedule')}[aria-busy="false"]`],
  recap: ['/recap', `${id('recap')}[aria-busy="false"]`],
  leagues: ['/leagues', id('league-link')],
  league: ['/l/trivia?view=ratings', `${id('league')}[aria-busy="false"]`],
  season: ['/l/swiss', `${id('season')}[aria-busy="false"]`],
  leaderboard: ['/leaderboard', id('leaderboard')],
  agent: [`/a/${shared.world.agents[0].agent_id}`, `${id('agent')}[aria-busy="false"]`],
  console: ['/console', id('door')],
  admin: ['/admin', id('admin-door')],
};

/** Opens a page from an empty cache and counts its requests, without sockets, and the bytes of the page, without its content; what comes later does not count. */
async function visit([path, ready], options) {
  const tab = await open('', options);
  await tab.page.addInitScript(WATCH);
  const devtools = await tab.page.context().newCDPSession(tab.page);
  await devtools.send('Network.enable');
  const seen = { requests: 0, bytes: 0, byType: {} };
  const types = new Map();
  const urls = new Set();
  devtools.on('Network.requestWillBeSent', (e) => {
    if (e.request.url.startsWith('data:')) return;
    const { pathname } = new URL(e.request.url);
    types.set(e.requestId, CONTENT.test(pathname) ? 'Content' : e.type);
    urls.add(e.request.url); // what a match that ends makes it read again is no part of the visit
    seen.requests = urls.size;
  });
  devtools.on('Network.loadingFinished', (e) => {
    if (!types.has(e.requestId)) return;
    const type = types.get(e.requestId);
    if (type !== 'Content') seen.bytes += e.encodedDataLength;
    seen.byType[type] = (seen.byType[type] ?? 0) + e.encodedDataLength;
  });
  await tab.go(path);
  await tab.settled(ready);
  return { ...tab, seen: structuredClone(seen) };
}

/** Writes down the shifts of a page from its first paint, with what moved. */
const WATCH = () => {
  window.shifts = [];
  const name = (n) =>
    n instanceof Element
      ? `${n.tagName.toLowerCase()}${n.dataset.testid ? `[${n.dataset.testid}]` : ''}.${[...n.classList].filter((c) => !c.startsWith('svelte-')).join('.')}`
      : (n?.parentElement && `"${n.textContent.slice(0, 20)}" in ${name(n.parentElement)}`) || 'gone';
  new PerformanceObserver((list) => {
    for (const e of list.getEntries()) {
      if (e.hadRecentInput) continue;
      window.shifts.push({
        at: e.startTime,
        value: e.value,
        moved: e.sources.map(
          (s) =>
            `${name(s.node)} ${[s.previousRect, s.currentRect].map((r) => [r.x, r.y, r.width, r.height].map(Math.round).join(',')).join(' > ')}`,
        ),
      });
    }
  }).observe({ type: 'layout-shift', buffered: true });
};

/** Waits, in the page, until it has drawn two frames. */
const drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));

/** CLS: the largest sum within windows of at most 5 s whose shifts are less than 1 s apart. */
function cls(shifts) {
  let most = 0;
  let sum = 0;
  let from = -Infinity;
  let last = -Infinity;
  for (const s of shifts) {
    if (s.at - last > 1000 || s.at - from > 5000) [sum, from] = [0, s.at];
    sum += s.value;
    last = s.at;
    most = Math.max(most, sum);
  }
  return most;
}

test('a cold visit stays within its bytes and requests', async (t) => {
  const over = [];
  for (const [name, page] of Object.entries(PAGES)) {
    const { seen, close } = await visit(page);
    await close();
    const budget = BUDGETS.pages[name] ?? {};
    t.diagnostic(`${name}: ${seen.requests} requests, ${(seen.bytes / 1024).toFixed(1)} KB ${JSON.stringify(seen.byType)}`);
    if (!(seen.requests <= budget.requests)) over.push(`${name}: ${seen.requests} requests, budget ${budget.requests}`);
    if (!(seen.bytes <= budget.bytes)) over.push(`${name}: ${seen.bytes} bytes, budget ${budget.bytes}`);
  }
  assert.deepEqual(over, []);
});

for (const name of LIVE) {
  test(`nothing moves by itself while matches are played: ${name}`, async (t) => {
    const own = await recording(t);
    const tabs = [];
    for (const size of [{}, PHONE]) tabs.push(await visit(PAGES[name], { origin: own.origin, ...size }));
    // As fast as the pages take it: half a second of the matches, then the frames that show it.
    for (let n = 0; n < 30; n++) {
      own.pass(500);
      await Promise.all(tabs.map(({ page }) => page.evaluate(drawn)));
    }
    for (const [at, { page, close }] of tabs.entries()) {
      const match = await page.evaluate(() => document.querySelector('[data-testid="match"]')?.dataset.match);
      if (match) await page.locator(`${ready('match')}[data-seq="${own.match(match).seq}"]`).waitFor();
      const shifts = await page.evaluate(() => window.shifts);
      await close();
      const [sum, budget] = [cls(shifts), BUDGETS.pages[name].shift];
      const moved = shifts
        .filter((s) => s.value > 0.001)
        .map((s) => `${s.value.toFixed(4)} at ${Math.round(s.at)} ms: ${s.moved.join('; ')}`);
      assert.ok(
        sum <= budget,
        `${at ? 'on a phone' : 'on a desk'}: layout shift ${sum.toFixed(4)}, budget ${budget}; ${moved.join(' | ')}`,
      );
    }
  });
}

test('the lines of a lane stay when the next one comes', async () => {
  const seats = ['ag_1', 'ag_2'].map((agent_id) => ({ agent_id, name: agent_id, version: '1' }));
  const said = Array.from({ length: 4 }, (_, i) => `line ${i}`);
  const lines = logOf([
    { type: 'match_scheduled', league: 'trivia', starts_at: '2026-11-21T18:00:00.000Z', rated: false, seats },
    { type: 'match_started', league: 'trivia', format: 'ladder', visibility: 'live', rated: false, total_rounds: 1, seats },
    {
      type: 'round_started',
      round: 1,
      task: { description: 'What is 1 + 1?' },
      time_limit_seconds: 30,
      deadline: '2026-11-21T18:00:31.000Z',
    },
    ...said.map((message) => ({ type: 'thinking', round: 1, agent_id: 'ag_1', message })),
  ]);
  const { page, close } = await open('/replay', { width: 1440, height: 1200 });
  await chooseLog(page, lines);
  await page.locator(id('replay')).waitFor();
  const tops = [];
  for (const line of said) {
    await page.keyboard.press('ArrowRight');
    await page.locator(id('entry'), { hasText: line }).waitFor();
    tops.push((await page.locator(id('entry'), { hasText: said[0] }).boundingBox()).y);
  }
  assert.deepEqual(
    tops,
    said.map(() => tops[0]),
  );
  await close();
});

test('fonts wait for the first view, and not on the next visit', async () => {
  const { page, go, settled, close } = await open('');
  await page.addInitScript(() => addEventListener('DOMContentLoaded', () => (window.early = 'fonts' in document.documentElement.dataset)));
  const [path, ready] = PAGES.lobby;
  for (const early of [false, true]) {
    await go(path);
    await settled(ready);
    await page.waitForFunction(() => 'fonts' in document.documentElement.dataset && document.fonts.check('16px "Archivo Variable"'));
    assert.equal(await page.evaluate(() => window.early), early);
  }
  await close();
});
