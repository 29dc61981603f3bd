// What a page shows before any stream has said a word: what its first answers
// know, which the page brings along. The figures of the paint on slow 4G are
// printed, and decide nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { id, open, SCREENS } from './kit/kit.mjs';
import { recording } from './kit/recording.mjs';

/** Slow 4G as Lighthouse has it. */
const NETWORK = { offline: false, latency: 150, downloadThroughput: 1_638_400 / 8, uploadThroughput: 750_000 / 8 };
const SHIFT = 0.02;

const PHONE = { width: 390, height: 844, theme: 'light' };

/** Pages of matches, by their match; the lobby's stage chooses one. */
const MATCHES = {
  lobby: ['/'],
  duel: ['/m/m_live_duel', 'm_live_duel'],
  table: ['/m/m_live_table', 'm_live_table'],
  arena: ['/m/m_live_arena', 'm_live_arena'],
  debate: ['/m/m_live_debate', 'm_live_debate'],
  four: ['/m/m_live_connect_four', 'm_live_connect_four'],
  done: ['/m/m_done_duel', 'm_done_duel'],
  next: ['/m/m_next', 'm_next'],
  embed: ['/embed/matches/m_live_duel', 'm_live_duel'],
};
/** Other pages, with what they show. */
const OTHERS = {
  agent: ['/a/ag_01kb001013fixture', ['Quill', 'by demo', 'Open Trivia']],
  league: ['/l/trivia', ['Open Trivia', 'Standings', 'Quill']],
  season: ['/l/swiss/seasons/2', ['Season 2']],
  leagues: ['/leagues', ['Open Trivia']],
  schedule: ['/schedule', ['Quill', 'Meridian']],
};

/** What a match must show: its league's title, and the names and the question of its snapshot. */
function shownOf(own, m) {
  const names = m.seats.length <= 8 ? m.seats.map((s) => s.name) : [m.seats[0].name];
  const round = m.current_round;
  const asked = m.status === 'running' && !round.state ? [round.debate?.motion ?? round.task.description] : [];
  return [own.world.leagues.find((l) => l.slug === m.league).title, ...names, ...asked];
}

/** Opens a page whose stream and reads are never answered: it has what it brings along. */
async function alone(t, own, path, size) {
  const tab = await open('', { origin: own.origin, ...size });
  t.after(tab.close);
  await tab.page.route('**/v1/**', () => undefined);
  await tab.page.routeWebSocket('**/v1/stream*', () => undefined);
  await tab.go(path);
  return tab.page;
}

const shows = async (page, on, texts) => {
  for (const text of texts) await page.locator(on, { hasText: text }).waitFor();
};
const picture = async (page, name, { width = 1440 }) => SCREENS && page.screenshot({ path: `${SCREENS}/paint-${name}-${width}.png` });

for (const [name, [path, match]] of Object.entries(MATCHES)) {
  test(`before anything is answered a page shows what it brings along: ${name}`, async (t) => {
    const own = await recording(t, { carries: true });
    for (const size of [{}, PHONE]) {
      const page = await alone(t, own, path, size);
      const m = own.match(match ?? (await page.locator(id('stage')).getAttribute('data-match')));
      await shows(page, id(match ? 'page' : 'stage'), shownOf(own, m));
      if (name === 'lobby') assert.equal(await page.locator(id('enter-agent')).getAttribute('href'), '/console/new');
      if (m.current_round?.state) await page.locator(id('layout-game')).waitFor();
      if (m.seats.length === 2)
        for (const [i, side] of ['a', 'b'].entries())
          assert.equal(await page.locator(`${id(`score-${side}`)} .unseen`).textContent(), String(m.seats[i].points));
      await picture(page, name, size);
    }
  });
}

test('before anything is answered other pages show what they bring along', async (t) => {
  const own = await recording(t, { carries: true });
  for (const [name, [path, texts]] of Object.entries(OTHERS)) {
    for (const size of [{}, PHONE]) {
      const page = await alone(t, own, path, size);
      await shows(page, id('page'), texts);
      await picture(page, name, size);
    }
  }
});

/** Writes down how a page paints. */
const WATCH = () => {
  window.paint = { shifts: [] };
  const on = (type, take) => new PerformanceObserver((list) => list.getEntries().forEach(take)).observe({ type, buffered: true });
  on('paint', (e) => e.name === 'first-contentful-paint' && (window.paint.first = e.startTime)); // what is before is the ground alone
  on('largest-contentful-paint', (e) => Object.assign(window.paint, { largest: e.startTime, what: e.element?.outerHTML.slice(0, 60) }));
  on('layout-shift', (e) => e.hadRecentInput || window.paint.shifts.push(e.value));
};

test('pages of matches stand still on a slow network', async (t) => {
  const own = await recording(t, { carries: true });
  for (const name of ['lobby', 'duel', 'four', 'done']) {
    for (const size of [{}, PHONE]) {
      const { page, go, settled, close } = await open('', { origin: own.origin, ...size });
      await page.addInitScript(WATCH);
      const devtools = await page.context().newCDPSession(page);
      await devtools.send('Network.enable');
      await devtools.send('Network.emulateNetworkConditions', NETWORK);
      await go(MATCHES[name][0]);
      await settled('[data-ready="true"]');
      const { first, largest, what, shifts } = await page.evaluate(() => window.paint);
      const shift = shifts.reduce((sum, s) => sum + s, 0);
      t.diagnostic(
        `${name} at ${size.width ?? 1440}: first paint ${Math.round(first)} ms, largest ${Math.round(largest)} ms (${(largest / first).toFixed(2)} ×) ${what}, shift ${shift.toFixed(4)}`,
      );
      assert.ok(shift <= SHIFT, `${name}: layout shift ${shift}`);
      await close();
    }
  }
});
