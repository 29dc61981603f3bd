// Always a next thing: the next live match after one that ends, TV mode, the
// last meetings of two agents, following agents and leagues.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ADMIN, api, checkPages, heldDuel, id, once, open, pair, PATIENCE, restage, SCREENS, send, until, WRONG } from './kit/kit.mjs';

const path = (page) => page.evaluate(() => location.pathname);
const finished = () =>
  until(
    'two finished duels of the same agents',
    async () => {
      for (const m of (await api('/v1/matches?status=finished&limit=50')).items) {
        if (m.seats.length !== 2) continue;
        const [a, b] = m.seats.map((s) => s.agent_id);
        const all = (await api(`/v1/matches?agent=${a}&opponent=${b}&status=finished&limit=6`)).items.filter((x) => x.seats.length === 2);
        if (all.length > 1) return { match: m, meetings: all.length - 1 };
      }
      return undefined;
    },
    PATIENCE,
  );

test('the next live match follows one that has ended, unless the reader stays or is busy', { timeout: 2 * PATIENCE }, async (t) => {
  const { match_id, letGo } = await heldDuel(t, 'Ending', 1, { rounds: 1, time_limit_seconds: 300, rated: false });
  const rest = await heldDuel(t, 'Resting', 1, { rounds: 1, time_limit_seconds: 300, rated: false }); // something is live in any case
  const [idle, staying, busy] = await Promise.all(
    [{ width: 390, height: 844, theme: 'light' }, {}, {}].map(async (size) => {
      const tab = await open('', { auto: true, ...size });
      await tab.page.clock.install();
      await tab.go(`/m/${match_id}`);
      await tab.page.locator(`${id('match')}[data-ready="true"]`).waitFor();
      return tab;
    }),
  );
  await busy.page.keyboard.press('a');
  // Escape follows at once, however busy the machine is.
  await staying.page.evaluate(() => {
    window.offered = new Promise((found) => {
      new MutationObserver((_, observer) => {
        const bar = document.querySelector('[data-testid="next-bar"]');
        if (!bar) return;
        observer.disconnect();
        found({ match: bar.dataset.match, focused: document.activeElement?.tagName });
        document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }));
      }).observe(document.body, { childList: true, subtree: true });
    });
  });
  letGo();

  const { match, focused } = await staying.page.evaluate(() => window.offered);
  assert.notEqual(match, match_id);
  assert.equal(focused, 'BODY');
  await staying.page.locator(id('next-bar')).waitFor({ state: 'detached' });
  await staying.page.clock.fastForward(20_000);
  await staying.page.locator(id('watch-next')).locator(id('live-match')).waitFor();
  assert.equal(await path(staying.page), `/m/${match_id}`);

  if (SCREENS) {
    await idle.page.locator(id('next-bar')).waitFor();
    await idle.page.screenshot({ path: `${SCREENS}/next-bar-390-light.png` });
  }
  await idle.page.locator(`${id('match')}[data-ready="true"]:not([data-match="${match_id}"])`).waitFor();
  assert.match(await path(idle.page), /^\/m\/(?!$)/);

  await busy.page.locator(id('watch-next')).locator(id('live-match')).waitFor();
  assert.equal(await busy.page.locator(id('next-bar')).count(), 0);

  // One who comes after the end is left alone.
  await busy.page.reload();
  await busy.page.locator(id('watch-next')).locator(id('live-match')).waitFor();
  assert.equal(await busy.page.locator(id('next-bar')).count(), 0);
  for (const tab of [idle, staying, busy]) {
    assert.deepEqual(tab.faults, []);
    await tab.close();
  }
  rest.letGo();
});

test('a duel shows the last meetings of its agents', { timeout: 2 * PATIENCE }, async () => {
  const { match, meetings } = await finished();
  const { page, faults, close } = await open(`/m/${match.match_id}`);
  const rows = page.locator(`${id('meetings')} ${id('match-row')}`);
  await rows.first().waitFor();
  const shown = await rows.evaluateAll((all) => all.map((e) => e.dataset.match));
  assert.ok(shown.length >= Math.min(5, meetings) && shown.length <= 5 && !shown.includes(match.match_id), `${shown}`);
  await page.locator(id('meetings-compare')).click();
  await page.locator(id('head-to-head')).waitFor();
  assert.deepEqual(faults, []);
  await close();
});

test(
  'TV mode shows a live match, moves on when it ends, and says what comes when nothing is live',
  { timeout: 2 * PATIENCE },
  async (t) => {
    const { match_id, letGo } = await heldDuel(t, 'Screen', 1, { rounds: 1, time_limit_seconds: 300, rated: false });
    const rest = await heldDuel(t, 'After', 1, { rounds: 1, time_limit_seconds: 300, rated: false });
    for (const m of [match_id, rest.match_id])
      await until('running match', async () => (await api(`/v1/matches/${m}`)).status === 'running');
    const { page, faults, go, close } = await open('');
    let only = (m) => m.match_id === match_id;
    await restage(page, (lobby) => ({ ...lobby, live: lobby.live.filter((m) => only(m)) }));
    await page.clock.install();
    await go('/tv');
    const tv = (present) => page.locator(`${id('tv')}[data-present="${present}"]`);
    await tv(match_id).waitFor();
    await page.locator(`${id('tv-match')}[data-match="${match_id}"][data-ready="true"]`).waitFor();
    assert.equal(await page.locator('nav').count(), 0);
    assert.match(await page.title(), /Silent.* vs .*TV/);
    only = () => true;
    letGo();
    await page.locator(`${id('tv')}[data-present="${match_id}"][data-ended="true"]`).waitFor();
    await page.clock.fastForward(30_000); // the lobby is read again
    await page.locator(`${id('tv-match')}[data-ready="true"]:not([data-match="${match_id}"])`).waitFor();
    rest.letGo();

    const quiet = await open('');
    const starts_at = new Date(Date.now() + 3_600_000).toISOString();
    await restage(quiet.page, (lobby) => ({ ...lobby, live: [], next: [{ ...lobby.recent[0], status: 'scheduled', starts_at }] }));
    await quiet.go('/tv');
    assert.match(await quiet.page.locator(id('tv-idle')).innerText(), /(1:00:0\d|59:\d\d)/);
    await quiet.page.locator(id('tv-leave')).click();
    await quiet.page.locator(id('lobby')).waitFor();
    assert.deepEqual([...faults, ...quiet.faults], []);
    await quiet.close();
    await close();
  },
);

test('TV mode names an elimination a final once few are left', { timeout: PATIENCE }, async (t) => {
  const { match_id, letGo } = await heldDuel(t, 'Few', 1, { rounds: 1, time_limit_seconds: 300, rated: false });
  const real = await until('running match', async () => {
    const m = await api(`/v1/matches/${match_id}`);
    return m.status === 'running' && m;
  });
  const { page, faults, go, close } = await open('');
  let left = 6;
  const seats = () => Array.from({ length: 6 }, (_, i) => ({ ...real.seats[0], agent_id: `ag_${i}`, state: i < left ? 'active' : 'out' }));
  await restage(page, (lobby) => ({ ...lobby, live: [{ ...real, format: 'elimination', seats: seats() }] }));
  await page.clock.install();
  await go('/tv');
  await page.locator(`${id('tv')}[data-present="${match_id}"]`).waitFor();
  assert.equal(await page.locator(`${id('tv')} .final`).count(), 0);
  left = 3;
  await page.clock.fastForward(30_000); // the lobby is read again
  await page.locator(`${id('tv')} .final`).waitFor();
  letGo();
  assert.deepEqual(faults, []);
  await close();
});

/** Puts a double in the place of the browser's notifications. */
async function notifications(page, permission) {
  await page.addInitScript((first) => {
    window.notes = [];
    window.Notification = class {
      static permission = sessionStorage.getItem('permission') ?? first;
      static async requestPermission() {
        sessionStorage.setItem('asked', String(1 + Number(sessionStorage.getItem('asked'))));
        sessionStorage.setItem('permission', 'granted');
        return (this.permission = 'granted');
      }
      constructor(title, options) {
        window.notes.push({ title, ...options });
      }
      close() {}
    };
  }, permission);
}

test('a followed agent is announced when it plays, and comes first in the lobby', { timeout: 2 * PATIENCE }, async (t) => {
  const slug = `followed-${once()}`;
  assert.equal(
    (
      await send('POST', '/v1/leagues', {
        slug,
        title: 'Followed',
        generator: { name: 'arithmetic' },
        judge: 'number',
        rounds: 1,
        time_limit_seconds: 300,
        rated: false,
      })
    ).status,
    201,
  );
  let letGo;
  const gone = new Promise((resolve) => (letGo = resolve));
  const agents = await pair(t, slug, async () => {
    await gone;
    return { answer: WRONG };
  });
  const [other] = (await api('/v1/agents?limit=20')).items.filter((a) => !agents.some((b) => b.id === a.agent_id));

  const asked = await open('');
  await notifications(asked.page, 'default');
  await asked.go(`/a/${other.agent_id}`);
  await asked.page.locator(id('follow')).click();
  await asked.page.locator(id('follow-note')).waitFor();
  await asked.go(`/a/${agents[0].id}`);
  const follow = asked.page.locator(id('follow'));
  for (const pressed of ['true', 'false', 'true']) {
    await follow.click();
    assert.equal(await follow.getAttribute('aria-pressed'), pressed);
  }
  assert.equal(await asked.page.evaluate(() => sessionStorage.getItem('asked')), '1', 'asks on the first follow only');

  // Without permission, and without storage, the page itself announces it.
  const refused = await open('');
  await notifications(refused.page, 'denied');
  await refused.page.addInitScript(() =>
    ['getItem', 'setItem'].forEach(
      (name) =>
        (Storage.prototype[name] = () => {
          throw new Error('no storage');
        }),
    ),
  );
  await refused.go(`/l/${slug}`);
  await refused.page.locator(id('follow')).click();
  assert.equal(await refused.page.locator(id('follow')).getAttribute('aria-pressed'), 'true');
  await refused.page.locator(id('follow-note')).waitFor();

  await asked.go('/leagues'); // any page of the arena
  await Promise.all(
    [asked, refused].map(({ page }) => page.locator(`${id('follow-watch')}[data-ready="true"]`).waitFor({ state: 'attached' })),
  );
  const { match_id } = await api('/v1/matches', { method: 'POST', token: ADMIN, body: { league: slug, agents: agents.map((a) => a.id) } });
  await until('notification', () =>
    asked.page.evaluate((tag) => window.notes.some((n) => n.tag === tag && n.title.includes('Silent')), match_id),
  );
  await refused.page.locator(`${id('follow-toast')}[data-match="${match_id}"]`).waitFor();

  await asked.go('/');
  const first = asked.page.locator(id('followed')).first();
  await asked.page.locator(`${id('followed')}[data-id="${agents[0].id}"][data-live="true"]`).waitFor();
  assert.equal(await first.getAttribute('data-live'), 'true');
  await refused.page.locator(`${id('follow-toast')}[data-match="${match_id}"] a`).click();
  await refused.page.locator(`${id('match')}[data-match="${match_id}"]`).waitFor();
  letGo();
  assert.deepEqual([...asked.faults, ...refused.faults], []);
  await asked.close();
  await refused.close();
});

test('they fit every screen', { timeout: 4 * PATIENCE }, async () => {
  const { match } = await finished();
  const large = (await api('/v1/leagues')).items.find((l) => l.max_seats > 8)?.slug;
  const many = await until(
    'match of many',
    async () => (await api(`/v1/matches?status=finished,running&league=${large}`)).items.find((m) => m.seats.length > 8),
    PATIENCE,
  );
  const following = [
    ...match.seats.map((s) => ({ kind: 'agent', id: s.agent_id, name: s.name })),
    { kind: 'league', id: match.league, name: match.league },
  ];
  await checkPages(
    {
      'next-duel': [`/m/${match.match_id}`, `${id('watch-next')} ${id('live-match')}, ${id('watch-next')} p`, id('meetings')],
      'next-many': [`/m/${many.match_id}`, `${id('match')}[data-ready="true"]`],
      'next-tv': ['/tv', `${id('tv-match')}[data-ready="true"], ${id('tv-idle')}`],
      'next-agent': [`/a/${match.seats[0].agent_id}`, id('follow')],
      'next-league': [`/l/${match.league}`, id('follow')],
      'next-lobby': ['/', id('followed')],
    },
    {
      storageState: {
        cookies: [],
        origins: [
          {
            origin: process.env.ARENA_URL.replace(/\/$/, ''),
            localStorage: [{ name: 'arena.following', value: JSON.stringify(following) }],
          },
        ],
      },
    },
  );
});
