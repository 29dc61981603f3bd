// The pages for everyone: axe in both themes, the keyboard alone, less motion,
// nothing that jumps. In headless Chromium, on recordings; the pages of those who
// are signed in are in console.spec.mjs and admin.spec.mjs:
//
//   scripts/browser-test.sh everyone.spec.mjs
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, everyPage, fits, id, open, reachable, restage } from './kit/kit.mjs';
import { NOW, recording, shared } from './kit/recording.mjs';

const [one, other] = shared.world.agents;
const log = encodeURIComponent('/v1/matches/m_done_duel/events?limit=1000');
const PAGES = [
  ['/', `${id('lobby')}[data-ready="true"]`],
  ['/m/m_live_duel', `${id('match')}[data-ready="true"]`],
  ['/m/m_live_arena', `${id('match')}[data-ready="true"]`],
  ['/m/m_done_debate', `${id('match')}[data-ready="true"]`],
  ['/m/m_done_connect_four', `${id('match')}[data-ready="true"]`],
  ['/m/m_live_kuhn_poker', `${id('match')}[data-ready="true"]`],
  ['/m/m_done_colonel_blotto', `${id('match')}[data-ready="true"]`],
  ['/m/m_done_negotiation', `${id('match')}[data-ready="true"]`],
  [`/replay?file=${log}`, id('back-to-live')],
  ['/matches', `${id('matches')}[data-address]`],
  ['/schedule', `${id('schedule')}[aria-busy="false"]`],
  ['/leagues', id('league-link')],
  ['/l/trivia', id('standings')],
  ['/l/swiss', `${id('season')}[aria-busy="false"]`],
  ['/leaderboard', id('leaderboard')],
  [`/compare?agents=${one.agent_id},${other.agent_id}`, id('compared')],
  [`/a/${one.agent_id}`, `${id('agent')}[aria-busy="false"]`],
  ['/nowhere', id('notice')],
];
/** Pages that are watched, with little to reach by keyboard. */
const SCREENS = [
  ['/tv', `${id('tv-match')}[data-ready="true"]`],
  ['/embed/matches/m_live_duel', `${id('embed')} ${id('stage')}`],
];

test('axe finds nothing serious on any page, and the keyboard alone walks through it', async () => {
  await reachable(PAGES);
  await accessible(SCREENS);
});

test('less motion is kept to, and Spanish reaches every page', async () => {
  await everyPage(PAGES, { locale: 'es', width: 360, height: 740 }, async ({ page, faults }, path) => {
    assert.equal(await page.evaluate(() => document.documentElement.lang), 'es');
    assert.equal(parseFloat(await page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue('--slow'))), 0);
    await fits(page, `${path} in Spanish at 360`);
    assert.deepEqual(faults.splice(0), [], path);
  });
});

test('the longest names and titles fit a phone', async (t) => {
  const own = await recording(t);
  own.keep('m_live_duel', 'm_done_duel');
  own.to('m_live_duel', (e) => e.type === 'seat_outcome'); // the round stays open between the two
  const wide = (name, length) => name.replaceAll(' ', '').padStart(length, 'W');
  const seats = (e) => ({ ...e, seats: e.seats.map((s) => (s.name ? { ...s, name: wide(s.name, 40) } : s)) });
  own.change('m_live_duel', (e) => (e.seats ? seats(e) : e));
  own.world.agents.forEach((a) => (a.name = wide(a.name, 40)));
  own.world.leagues.forEach((l) => (l.title = wide(l.title, 80)));
  const { page, faults, go, close } = await open('', {
    origin: own.origin,
    locale: 'es',
    width: 360,
    height: 740,
    reducedMotion: 'reduce',
  });
  for (const [path, ready] of [
    ['/m/m_live_duel', `${id('lock-ins')}[data-locked="1"]`],
    ['/embed/matches/m_live_duel', `${id('embed')} ${id('stage')}`],
    ['/', id('stage')],
    ['/matches?league=trivia', 'main a[href="/m/m_live_duel"]'],
    ['/l/trivia', `${id('league')}[aria-busy="false"]`],
    [`/a/${own.world.agents.at(-1).agent_id}`, `${id('agent')}[aria-busy="false"]`],
  ]) {
    await go(path);
    await page.locator(ready).first().waitFor();
    await fits(page, path);
  }
  assert.deepEqual(faults, []);
  await close();
});

test('the stage stays where it is when a second match begins', async () => {
  const { page, faults, go, close } = await open('');
  // The page reads of one live match, and when it reads again, of two; it hears of no other.
  const matches = ['m_live_duel', 'm_live_table'].map(shared.match);
  let count = 1;
  await restage(page, (lobby) => ({ ...lobby, live: matches.slice(0, count), next: [], recent: [] }));
  await page.clock.install({ time: NOW });
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

test('the first paint of the lobby takes one request', async () => {
  for (const width of [1440, 390]) {
    const { page, go, close } = await open('/nowhere', { width });
    const requests = [];
    page.on('request', (r) => new URL(r.url()).pathname.startsWith('/v1/') && requests.push(new URL(r.url()).pathname));
    await go('/');
    await page.locator(`${id('lobby')}[data-ready="true"]`).waitFor();
    const apart = ['/v1/stream', '/v1/marks']; // beside it: the paint waits for neither
    const first = requests.slice(0, requests.indexOf('/v1/lobby') + 1).filter((r) => !apart.includes(r));
    assert.deepEqual(first, ['/v1/lobby'], 'the first paint takes more than one request');
    await close();
  }
});
