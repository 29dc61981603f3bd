// The pages for everyone: axe in both themes, the keyboard alone, less motion,
// nothing that jumps. In headless Chromium, against a running arena:
//
//   scripts/browser-test.sh everyone.spec.mjs
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ADMIN, api, fits, grave, id, once, open, pair, PATIENCE, restage, send, until } from './kit/kit.mjs';

let known;
const pages = () => (known ??= find());

async function find() {
  const of = async (test, league = '') => {
    const all = (await api(`/v1/matches?status=running,finished&limit=100${league && `&league=${league}`}`)).items;
    return all.find((m) => m.round > 0 && test(m));
  };
  const leagues = (await api('/v1/leagues')).items;
  const plain = leagues.filter((l) => !l.debate && !l.game).map((l) => l.slug);
  const duel = await until('duel', () => of((m) => m.seats.length === 2 && plain.includes(m.league)), PATIENCE);
  const arena = await until('match of many', () => of((m) => m.seats.length > 8, leagues.find((l) => l.max_seats > 8)?.slug), PATIENCE);
  const debate = await of((m) => !plain.includes(m.league));
  const owner = await (await send('POST', '/v1/owners', { name: `owner ${Date.now()}` }, '')).json();
  const own = { 'arena.owner': owner.token };
  const admin = { 'arena.admin': ADMIN };
  const cup = leagues.find((l) => l.format === 'swiss')?.slug;
  return [
    ['/', `${id('lobby')}[data-ready="true"]`],
    [`/m/${duel.match_id}`, `${id('match')}[data-ready="true"]`],
    [`/m/${arena.match_id}`, `${id('match')}[data-ready="true"]`],
    ...(debate ? [[`/m/${debate.match_id}`, `${id('match')}[data-ready="true"]`]] : []),
    ['/leagues', id('league-link')],
    [`/l/${duel.league}?view=ratings`, `${id('standings')}, ${id('league')}[aria-busy="false"]`],
    ...(cup ? [[`/l/${cup}`, `${id('season')}[aria-busy="false"], ${id('season-none')}`]] : []),
    ['/leaderboard', id('leaderboard')],
    [`/a/${duel.seats[0].agent_id}`, `${id('agent')}[aria-busy="false"]`],
    ['/nowhere', id('notice')],
    ['/console', id('door')],
    ['/console', id('my-agents'), own],
    ['/console/new', `${id('register')} .tick`, own],
    ['/console/tokens', id('tokens'), own],
    ['/admin', id('admin-door')],
    ['/admin', id('nodes'), admin],
    ['/admin/leagues', id('admin-league'), admin],
    ['/admin/leagues/new', id('wizard'), admin],
    ['/admin/calendar', id('calendar-item'), admin],
    ['/admin/matches', `${id('schedule')} .tick`, admin],
    ['/admin/agents', id('admin-agent'), admin],
    ['/admin/packs', `${id('packs')} li`, admin],
    ['/admin/audit', `${id('audit')} li`, admin],
  ];
}

/** Opens every page in a tab of its reader. */
async function everyPage(options, check) {
  const all = await pages();
  for (const reader of new Set(all.map(([, , kept]) => kept))) {
    const tab = await open('', { reducedMotion: 'reduce', kept: reader, ...options });
    for (const [path, ready] of all.filter(([, , kept]) => kept === reader)) {
      await tab.go(path);
      await tab.page.locator(ready).first().waitFor();
      await check(tab, path);
    }
    await tab.close();
  }
}

test(
  'axe finds nothing serious on any page, in either theme, and the keyboard alone walks through it and is always seen',
  { timeout: 4 * PATIENCE },
  async () => {
    const wrong = [];
    await everyPage({}, async ({ page }, path) => {
      for (const theme of ['light', 'dark']) {
        // less motion: colors change at once
        await page.emulateMedia({ colorScheme: theme });
        for (const line of await grave(page, { recolored: theme === 'dark' })) wrong.push(`${path} (${theme}): ${line}`);
      }
      await walk(page, path);
    });
    assert.deepEqual(wrong, []);
  },
);

/** Presses Tab from the top of a page that has just come. */
async function walk(page, path) {
  const seen = new Set();
  for (let i = 0; i < 14; i++) {
    await page.keyboard.press('Tab');
    const at = await page.evaluate(() => {
      const e = document.activeElement;
      if (!e || e === document.body) return undefined;
      const style = getComputedStyle(e);
      const box = e.getBoundingClientRect();
      return {
        what: `${e.tagName} ${e.getAttribute('href') ?? e.getAttribute('name') ?? e.getAttribute('aria-label') ?? e.textContent?.slice(0, 20)}`,
        ring: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0,
        there: box.width > 0 && box.height > 0,
      };
    });
    if (!at) break; // the end of the page
    assert.ok(at.ring && at.there, `${path}: focus on ${at.what} cannot be seen`);
    seen.add(at.what);
  }
  assert.ok(seen.size >= 6, `${path}: only ${[...seen].join(', ')} can be reached`);
}

test('less motion is kept to, and Spanish reaches every page', { timeout: 2 * PATIENCE }, async () => {
  await everyPage({ locale: 'es', width: 360, height: 740 }, async ({ page, faults }, path) => {
    assert.equal(await page.evaluate(() => document.documentElement.lang), 'es');
    assert.equal(parseFloat(await page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue('--slow'))), 0);
    await fits(page, `${path} in Spanish at 360`);
    // The browser reports that an unknown page answers 404.
    assert.deepEqual(
      faults.splice(0).filter((f) => !(path === '/nowhere' && /status of 404/.test(f))),
      [],
      path,
    );
  });
});

test('the longest names and titles fit a phone', { timeout: PATIENCE }, async (t) => {
  const longest = (characters) => once().padStart(characters, 'W');
  const slug = `longest-${once()}`;
  const league = {
    slug,
    title: longest(80),
    generator: { name: 'arithmetic' },
    judge: 'number',
    rounds: 2,
    time_limit_seconds: 300,
    rated: false,
  };
  assert.equal((await send('POST', '/v1/leagues', league)).status, 201);
  // The first to be asked answers, the other never does: the round stays open between the two.
  const replies = [{ answer: longest(300) }];
  const agents = (
    await pair(
      t,
      slug,
      () => replies.pop(),
      () => longest(40),
    )
  ).map((a) => a.id);
  const { match_id } = await api('/v1/matches', { method: 'POST', token: ADMIN, body: { league: slug, agents } });
  const { page, faults, go, close } = await open('', { locale: 'es', width: 360, height: 740, reducedMotion: 'reduce' });
  const match = await until('match', async () => (await api(`/v1/matches?league=${slug}`)).items[0]);
  // Whichever match is on the stage, the one beside it has long names.
  await restage(page, (lobby) => ({
    ...lobby,
    live: [...lobby.live.filter((m) => m.match_id !== match_id).slice(0, 1), match].map((m) => ({
      ...m,
      league: slug,
      seats: match.seats,
    })),
  }));
  for (const [path, ready] of [
    [`/m/${match_id}`, `${id('lock-ins')}[data-locked="1"]`],
    [`/embed/matches/${match_id}`, `${id('embed')} ${id('stage')}`],
    ['/', id('live-match')],
    [`/matches?league=${slug}`, `main a[href="/m/${match_id}"]`],
    [`/l/${slug}`, `${id('league')}[aria-busy="false"]`],
    [`/a/${agents[0]}`, `${id('agent')}[aria-busy="false"]`],
  ]) {
    await go(path);
    await page.locator(ready).first().waitFor();
    await fits(page, path);
  }
  assert.deepEqual(faults, []);
  await close();
});

test('the stage stays where it is when a second match begins', { timeout: PATIENCE }, async () => {
  const { page, faults, go, close } = await open('');
  // The page reads of one live match, and when it reads again, of two; it hears of no other.
  const matches = await until(
    'two matches',
    async () => {
      const { items } = await api('/v1/matches?status=finished&limit=2');
      return items.length === 2 && items.map((m) => ({ ...m, status: 'running' }));
    },
    PATIENCE,
  );
  let count = 1;
  await restage(page, (lobby) => ({ ...lobby, live: matches.slice(0, count), next: [], recent: [] }));
  await page.clock.install();
  await go('/');
  const width = () =>
    page
      .locator(id('stage'))
      .first()
      .evaluate((e) => e.getBoundingClientRect().width);
  await page.locator(id('also-none')).waitFor();
  const alone = await width();
  count = 2;
  await page.clock.fastForward(60_000); // the lobby is read again
  await page.locator(id('live-match')).first().waitFor();
  assert.equal(await width(), alone);
  assert.deepEqual(faults, []);
  await close();
});

test('the lobby does not jump while it comes', { timeout: PATIENCE }, async (t) => {
  for (const width of [1440, 390]) {
    const { page, go, settled, close } = await open('/nowhere', { width });
    await page.addInitScript(() => {
      window.shift = 0;
      new PerformanceObserver((list) => list.getEntries().forEach((e) => !e.hadRecentInput && (window.shift += e.value))).observe({
        type: 'layout-shift',
        buffered: true,
      });
    });
    const requests = [];
    page.on('request', (r) => new URL(r.url()).pathname.startsWith('/v1/') && requests.push(new URL(r.url()).pathname));
    await go('/');
    await page.locator(`${id('lobby')}[data-ready="true"]`).waitFor();
    const first = requests.slice(0, requests.indexOf('/v1/lobby') + 1).filter((r) => r !== '/v1/stream');
    assert.deepEqual(first, ['/v1/lobby'], 'the first paint takes more than one request');
    await settled(`${id('lobby')}[data-ready="true"]`);
    const { shift, paint } = await page.evaluate(() => ({
      shift: window.shift,
      paint: performance.getEntriesByName('first-contentful-paint')[0]?.startTime,
    }));
    t.diagnostic(
      `lobby at ${width} px: layout shift ${shift.toFixed(4)} (wanted: at most 0.02), first content after ${Math.round(paint)} ms`,
    );
    await close();
  }
});
