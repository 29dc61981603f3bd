// Always a next thing: the next live match after one that ends, TV mode, the
// last meetings of two agents, following agents and leagues.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkPages, counted, id, open, restage, SCREENS, until } from './kit/kit.mjs';
import { NOW, recording, shared } from './kit/recording.mjs';

const path = (page) => page.evaluate(() => location.pathname);

test('the next live match follows one that has ended, unless the reader stays or is busy', async (t) => {
  const own = await recording(t);
  own.keep('m_live_duel', 'm_live_large');
  const match_id = 'm_live_duel';
  const [idle, staying, busy] = await Promise.all(
    [{ width: 390, height: 844, theme: 'light' }, {}, {}].map(async (size) => {
      const tab = await open('', { auto: true, origin: own.origin, ...size });
      await tab.page.clock.install({ time: own.now() });
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
  own.to(match_id);

  const { match, focused } = await staying.page.evaluate(() => window.offered);
  assert.equal(match, 'm_live_large');
  assert.equal(focused, 'BODY');
  await staying.page.locator(id('next-bar')).waitFor({ state: 'detached' });
  await staying.page.clock.fastForward(20_000);
  await staying.page.locator(id('watch-next')).locator(id('live-match')).waitFor();
  assert.equal(await path(staying.page), `/m/${match_id}`);

  if (SCREENS) {
    await idle.page.locator(id('next-bar')).waitFor();
    await idle.page.screenshot({ path: `${SCREENS}/next-bar-390-light.png` });
  }
  await idle.page.locator(`${id('match')}[data-ready="true"][data-match="m_live_large"]`).waitFor();
  assert.equal(await path(idle.page), '/m/m_live_large');

  await busy.page.locator(id('watch-next')).locator(id('live-match')).waitFor();
  await counted(busy.page.locator(id('next-bar')), 0);

  // One who comes after the end is left alone.
  await busy.page.reload();
  await busy.page.locator(id('watch-next')).locator(id('live-match')).waitFor();
  await counted(busy.page.locator(id('next-bar')), 0);
  for (const tab of [idle, staying, busy]) {
    assert.deepEqual(tab.faults, []);
    await tab.close();
  }
});

test('a duel shows the last meetings of its agents', async (t) => {
  const own = await recording(t);
  const log = own.world.logs.get('m_done_duel');
  for (let n = 0; n < 6; n++)
    own.world.logs.set(
      `m_past_${n}`,
      log.map((e) => ({ ...e, match_id: `m_past_${n}` })),
    );
  const { page, faults, close } = await open('/m/m_done_duel', { origin: own.origin });
  const rows = page.locator(`${id('meetings')} ${id('match-row')}`);
  await rows.nth(4).waitFor();
  const shown = await rows.evaluateAll((all) => all.map((e) => e.dataset.match));
  assert.ok(shown.length === 5 && shown.every((match) => match.startsWith('m_past_')), `${shown}`);
  await page.locator(id('meetings-compare')).click();
  await page.locator(id('head-to-head')).waitFor();
  assert.deepEqual(faults, []);
  await close();
});

test('TV mode shows a live match, moves on when it ends, and says what comes when nothing is live', async (t) => {
  const own = await recording(t);
  own.keep('m_live_duel', 'm_live_large', 'm_done_table', 'm_next');
  const match_id = 'm_live_duel';
  const { page, faults, go, close } = await open('', { origin: own.origin });
  let only = (m) => m.match_id === match_id;
  await restage(page, (lobby) => ({ ...lobby, live: lobby.live.filter((m) => only(m)) }));
  await page.clock.install({ time: NOW });
  await go('/tv');
  const tv = (present) => page.locator(`${id('tv')}[data-present="${present}"]`);
  await tv(match_id).waitFor();
  await page.locator(`${id('tv-match')}[data-match="${match_id}"][data-ready="true"]`).waitFor();
  await counted(page.locator('nav'), 0);
  assert.match(await page.title(), /Quill vs .*TV/);
  only = () => true;
  own.to(match_id);
  await page.locator(`${id('tv')}[data-present="${match_id}"][data-ended="true"]`).waitFor();
  await page.clock.fastForward(30_000); // the lobby is read again
  await page.locator(`${id('tv-match')}[data-ready="true"][data-match="m_live_large"]`).waitFor();

  const quiet = await open('');
  const starts_at = new Date(NOW + 3_600_000).toISOString();
  await restage(quiet.page, (lobby) => ({ ...lobby, live: [], next: [{ ...lobby.recent[0], status: 'scheduled', starts_at }] }));
  await quiet.go('/tv');
  assert.match(await quiet.page.locator(id('tv-idle')).innerText(), /(1:00:0\d|59:\d\d)/);
  await quiet.page.locator(id('tv-leave')).click();
  await quiet.page.locator(id('lobby')).waitFor();
  assert.deepEqual([...faults, ...quiet.faults], []);
  await quiet.close();
  await close();
});

test('TV mode names an elimination a final once few are left', async () => {
  const match_id = 'm_live_duel';
  const real = shared.match(match_id);
  const { page, faults, go, close } = await open('');
  let left = 6;
  const seats = () => Array.from({ length: 6 }, (_, i) => ({ ...real.seats[0], agent_id: `ag_${i}`, state: i < left ? 'active' : 'out' }));
  await restage(page, (lobby) => ({ ...lobby, live: [{ ...real, format: 'elimination', seats: seats() }] }));
  await page.clock.install({ time: NOW });
  await go('/tv');
  await page.locator(`${id('tv')}[data-present="${match_id}"]`).waitFor();
  await counted(page.locator(`${id('tv')} .final`), 0);
  left = 3;
  await page.clock.fastForward(30_000); // the lobby is read again
  await page.locator(`${id('tv')} .final`).waitFor();
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

test('a followed agent is announced when it plays, and comes first in the lobby', async (t) => {
  const own = await recording(t);
  own.keep('m_live_duel', 'm_done_table');
  own.to('m_live_duel', (e) => e.type === 'match_scheduled');
  const [agent, , other] = own.world.agents;

  const asked = await open('', { origin: own.origin });
  await notifications(asked.page, 'default');
  await asked.go(`/a/${other.agent_id}`);
  await asked.page.locator(id('follow')).click();
  await asked.page.locator(id('follow-note')).waitFor();
  await asked.go(`/a/${agent.agent_id}`);
  const follow = asked.page.locator(id('follow'));
  for (const pressed of ['true', 'false', 'true']) {
    await follow.click();
    assert.equal(await follow.getAttribute('aria-pressed'), pressed);
  }
  assert.equal(await asked.page.evaluate(() => sessionStorage.getItem('asked')), '1', 'asks on the first follow only');

  // Without permission, and without storage, the page itself announces it.
  const refused = await open('', { origin: own.origin });
  await notifications(refused.page, 'denied');
  await refused.page.addInitScript(() =>
    ['getItem', 'setItem'].forEach(
      (name) =>
        (Storage.prototype[name] = () => {
          throw new Error('no storage');
        }),
    ),
  );
  await refused.go('/l/trivia');
  await refused.page.locator(id('follow')).click();
  assert.equal(await refused.page.locator(id('follow')).getAttribute('aria-pressed'), 'true');
  await refused.page.locator(id('follow-note')).waitFor();

  await asked.go('/leagues'); // any page of the arena
  await Promise.all(
    [asked, refused].map(({ page }) => page.locator(`${id('follow-watch')}[data-ready="true"]`).waitFor({ state: 'attached' })),
  );
  const match_id = 'm_live_duel';
  own.to(match_id, (e) => e.type === 'round_started');
  await until('notification', () =>
    asked.page.evaluate((tag) => window.notes.some((n) => n.tag === tag && n.title.includes('Quill')), match_id),
  );
  await refused.page.locator(`${id('follow-toast')}[data-match="${match_id}"]`).waitFor();

  await asked.go('/');
  const first = asked.page.locator(id('followed')).first();
  await asked.page.locator(`${id('followed')}[data-id="${agent.agent_id}"][data-live="true"]`).waitFor();
  assert.equal(await first.getAttribute('data-live'), 'true');
  await refused.page.locator(`${id('follow-toast')}[data-match="${match_id}"] a`).click();
  await refused.page.locator(`${id('match')}[data-match="${match_id}"]`).waitFor();
  assert.deepEqual([...asked.faults, ...refused.faults], []);
  await asked.close();
  await refused.close();
});

test('they fit every screen', async () => {
  const match = shared.match('m_done_duel');
  const following = [
    ...match.seats.map((s) => ({ kind: 'agent', id: s.agent_id, name: s.name })),
    { kind: 'league', id: match.league, name: match.league },
  ];
  await checkPages(
    {
      'next-duel': ['/m/m_done_duel', `${id('watch-next')} ${id('live-match')}, ${id('watch-next')} p`, id('meetings')],
      'next-many': ['/m/m_live_large', `${id('match')}[data-ready="true"]`],
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
            origin: shared.origin,
            localStorage: [{ name: 'arena.following', value: JSON.stringify(following) }],
          },
        ],
      },
    },
  );
});
