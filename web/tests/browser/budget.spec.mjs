// What the pages cost a reader, against web/budgets.json: bytes and requests of
// a cold visit, and layout shift while matches are played. Each page is opened once
// for all of it. LCP, which depends on the machine, is reported and decides nothing.
//
//   scripts/browser-test.sh budget.spec.mjs
//
// STILL_SECONDS is how long the pages are watched for layout shift, 8 by default.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ADMIN, api, chooseLog, id, logOf, open, PATIENCE, until } from './kit/kit.mjs';

const BUDGETS = JSON.parse(readFileSync(new URL('../../budgets.json', import.meta.url), 'utf8'));
const STILL_MS = 1000 * Number(process.env.STILL_SECONDS ?? 8);
const PHONE = { width: 390, height: 844 };
/** Lighthouse's slow 4G: 1.6 Mbit/s down, 150 ms round trip. */
const SLOW_4G = { offline: false, latency: 150, downloadThroughput: (1.6 * 1024 * 1024) / 8, uploadThroughput: (750 * 1024) / 8 };

/** What agents do decides about its bytes: the arena's data, and the fonts of the tools that agents name and of rare letters. */
const CONTENT = /^\/v1\/|\/jetbrains-mono-|-latin-ext-/;

/** How many pages are watched at once. */
const AT_ONCE = 7;
/** Where something moves while a match is played; a phone has another layout. */
const LIVE = ['lobby', 'duel', 'arena', 'board', 'cards', 'embed', 'tv', 'league'];
/** PAGES=lobby,duel checks these alone. */
const ONLY = process.env.PAGES?.split(',');

let known;
const pages = () =>
  (known ??= find().then((all) => Object.fromEntries(Object.entries(all).filter(([name]) => ONLY?.includes(name) ?? true))));

/** Every kind of page with its address, what it shows when it is ready, and what its tab keeps. */
async function find() {
  const of = async (query, wanted) => (await api(`/v1/matches?limit=100&${query}`)).items.find(wanted);
  const leagues = (await api('/v1/leagues')).items;
  const large = leagues.find((l) => l.max_seats > 8)?.slug;
  const plain = leagues.filter((l) => !l.debate && !l.game).map((l) => l.slug);
  const running = 'status=running,finished';
  const duel = await until(
    'live duel',
    () => of('status=running', (m) => m.seats.length === 2 && m.round > 0 && plain.includes(m.league)),
    PATIENCE,
  );
  const arena = await until('match of many', () => of(`${running}&league=${large}`, (m) => m.seats.length > 8 && m.round > 0), PATIENCE);
  const over = await until('finished duel', () => of('status=finished', (m) => m.seats.length === 2 && plain.includes(m.league)), PATIENCE);
  const game = (name) =>
    until(
      `live match of ${name}`,
      () => of(`status=running&league=${leagues.find((l) => l.game?.name === name).slug}`, (m) => m.round > 0),
      PATIENCE,
    );
  const [board, cards] = [await game('connect_four'), await game('kuhn_poker')];
  const cup = leagues.find((l) => l.format === 'swiss')?.slug;
  const ready = (name) => `${id(name)}[data-ready="true"]`;
  return {
    lobby: ['/', ready('lobby')],
    duel: [`/m/${duel.match_id}`, ready('match')],
    arena: [`/m/${arena.match_id}`, ready('match')],
    board: [`/m/${board.match_id}`, ready('match')],
    cards: [`/m/${cards.match_id}`, ready('match')],
    result: [`/m/${over.match_id}`, ready('match')],
    embed: [`/embed/matches/${duel.match_id}`, id('embed')],
    tv: ['/tv', `${id('tv-match')}[data-ready="true"], ${id('tv-idle')}`],
    matches: ['/matches', `${id('matches')}[data-address]`],
    schedule: ['/schedule', `${id('schedule')}[aria-busy="false"]`],
    leagues: ['/leagues', id('league-link')],
    league: [`/l/${duel.league}?view=ratings`, `${id('league')}[aria-busy="false"]`],
    ...(cup && { season: [`/l/${cup}`, `${id('season')}[aria-busy="false"], ${id('season-none')}`] }),
    leaderboard: ['/leaderboard', id('leaderboard')],
    agent: [`/a/${duel.seats[0].agent_id}`, `${id('agent')}[aria-busy="false"]`],
    console: ['/console', id('door')],
    admin: ['/admin', id('nodes'), { 'arena.admin': ADMIN }],
  };
}

/** Opens a page from an empty cache and counts its requests, without sockets, the bytes of the page, without its content, and those of the lobby's JSON; what comes later does not count. */
async function visit([path, ready, kept], options) {
  const tab = await open('', { kept, ...options });
  await tab.page.addInitScript(WATCH);
  const devtools = await tab.page.context().newCDPSession(tab.page);
  await devtools.send('Network.enable');
  const seen = { requests: 0, bytes: 0, byType: {} };
  const types = new Map();
  const urls = new Set();
  let lobby;
  devtools.on('Network.requestWillBeSent', (e) => {
    if (e.request.url.startsWith('data:')) return;
    const { pathname } = new URL(e.request.url);
    types.set(e.requestId, CONTENT.test(pathname) ? 'Content' : e.type);
    urls.add(e.request.url); // what a match that ends makes it read again is no part of the visit
    if (pathname === '/v1/lobby') lobby = e.requestId;
    seen.requests = urls.size;
  });
  devtools.on('Network.loadingFinished', (e) => {
    if (!types.has(e.requestId)) return;
    const type = types.get(e.requestId);
    if (type !== 'Content') seen.bytes += e.encodedDataLength;
    seen.byType[type] = (seen.byType[type] ?? 0) + e.encodedDataLength;
    if (e.requestId === lobby) seen.lobby = e.encodedDataLength;
  });
  if (options?.network) await devtools.send('Network.emulateNetworkConditions', options.network);
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

let measured;
const measure = () => (measured ??= all());

/** Opens every page, some of them also on a phone, and watches it for a while. */
async function all() {
  const results = [];
  const visits = Object.entries(await pages()).flatMap(([name, page]) => [
    [name, page, {}],
    ...(LIVE.includes(name) ? [[name, page, PHONE]] : []),
  ]);
  for (let at = 0; at < visits.length; at += AT_ONCE) {
    const tabs = await Promise.all(
      visits.slice(at, at + AT_ONCE).map(async ([name, page, size]) => ({ name, phone: size === PHONE, ...(await visit(page, size)) })),
    );
    await new Promise((r) => setTimeout(r, STILL_MS));
    for (const { name, phone, page, seen, close } of tabs) {
      results.push({ name, phone, seen, shifts: await page.evaluate(() => window.shifts) });
      await close();
    }
  }
  return results;
}

test('a cold visit stays within its bytes and requests', { timeout: 2 * PATIENCE + STILL_MS }, async (t) => {
  const over = [];
  for (const { name, seen } of (await measure()).filter((r) => !r.phone)) {
    const budget = BUDGETS.pages[name] ?? {};
    t.diagnostic(`${name}: ${seen.requests} requests, ${(seen.bytes / 1024).toFixed(1)} KB ${JSON.stringify(seen.byType)}`);
    if (!(seen.requests <= budget.requests)) over.push(`${name}: ${seen.requests} requests, budget ${budget.requests}`);
    if (!(seen.bytes <= budget.bytes)) over.push(`${name}: ${seen.bytes} bytes, budget ${budget.bytes}`);
  }
  assert.deepEqual(over, []);
});

test('the lobby is read in few bytes', { skip: ONLY && !ONLY.includes('lobby') }, async (t) => {
  const bytes = (await measure()).find((r) => r.name === 'lobby').seen.lobby;
  t.diagnostic(`lobby: ${bytes} bytes`);
  assert.ok(bytes <= BUDGETS.lobby_json_bytes, `${bytes} bytes, budget ${BUDGETS.lobby_json_bytes}`);
});

test('nothing moves by itself while matches are played', async (t) => {
  const over = [];
  for (const { name, phone, shifts } of await measure()) {
    const sum = cls(shifts);
    const budget = BUDGETS.pages[name]?.shift;
    const where = phone ? `${name} on a phone` : name;
    t.diagnostic(`${where}: layout shift ${sum.toFixed(4)}`);
    if (!(sum <= budget))
      over.push(
        `${where}: layout shift ${sum.toFixed(4)}, budget ${budget}; ${shifts
          .filter((s) => s.value > 0.001)
          .map((s) => `${s.value.toFixed(4)} at ${Math.round(s.at)} ms: ${s.moved.join('; ')}`)
          .join(' | ')}`,
      );
  }
  assert.deepEqual(over, []);
});

test('the lines of a lane stay when the next one comes', { skip: ONLY }, async () => {
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

test('fonts wait for the first view, and not on the next visit', { skip: ONLY && !ONLY.includes('lobby') }, async () => {
  const { page, go, settled, close } = await open('');
  await page.addInitScript(() => addEventListener('DOMContentLoaded', () => (window.early = 'fonts' in document.documentElement.dataset)));
  const {
    lobby: [path, ready],
  } = await pages();
  for (const early of [false, true]) {
    await go(path);
    await settled(ready);
    await page.waitForFunction(() => 'fonts' in document.documentElement.dataset && document.fonts.check('16px "Archivo Variable"'));
    assert.equal(await page.evaluate(() => window.early), early);
  }
  await close();
});

test('LCP of the first pages on slow 4G, reported', { timeout: PATIENCE }, async (t) => {
  const known = await pages();
  for (const name of ['lobby', 'duel', 'embed'].filter((n) => known[n])) {
    const { page, close } = await visit(known[name], { ...PHONE, network: SLOW_4G });
    const lcp = await page.evaluate(
      () =>
        new Promise((done) =>
          new PerformanceObserver((list) => done(list.getEntries().at(-1)?.startTime)).observe({
            type: 'largest-contentful-paint',
            buffered: true,
          }),
        ),
    );
    t.diagnostic(`${name}: LCP ${Math.round(lcp)} ms on slow 4G`);
    await close();
  }
});
