// The pages while the arena is gone: its server is stopped, started again at the
// same address, and frozen. That pages come back within 3 s is a matter of
// lib/contact.test.ts.
//
//   scripts/browser-test.sh outage.spec.mjs
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { id, open, SCREENS } from './kit/kit.mjs';
import { recording } from './kit/recording.mjs';

const STALE = id('stale');

test('every page says that it is stale, stays in its frame, and catches up', async (t) => {
  const own = await recording(t);
  const at = async (path, ready, options) => {
    const tab = await open(path, { origin: own.origin, ...options });
    await tab.settled(ready);
    return tab.page;
  };
  const lobby = await at('/', `${id('lobby')}[data-ready="true"]`);
  const pages = {
    lobby,
    match: await at('/m/m_live_duel', `${id('match')}[data-ready="true"]`, { width: 390, height: 844 }),
    league: await at('/l/trivia', `${id('league')}[aria-busy="false"]`),
    frame: await at('/embed/matches/m_live_duel', id('embed')),
    screen: await at('/tv', id('tv')),
  };
  const all = (state) => Promise.all(Object.values(pages).map((page) => page.locator(STALE).waitFor({ state })));
  const shown = await pages.match.locator(id('match')).getAttribute('data-seq');

  await t.test('a killed arena', async () => {
    own.stop();
    await all('visible');
    if (SCREENS) for (const [name, page] of Object.entries(pages)) await page.screenshot({ path: `${SCREENS}/outage-${name}.png` });
    // What was there stays there.
    assert.equal(await lobby.locator(id('lobby')).getAttribute('data-ready'), 'true');
    assert.ok(Number(await pages.match.locator(id('match')).getAttribute('data-seq')) >= Number(shown));
    // A page whose parts have not been loaded, and one whose data cannot be read.
    for (const [path, page] of [
      ['/leaderboard', 'leaderboard'],
      ['/leagues', 'leagues'],
    ]) {
      await lobby.locator(`nav a[href="${path}"]`).click();
      await lobby.locator(`${id('page')}[data-page="${page}"] ${id('notice')}[data-kind="network"]`).waitFor();
      assert.equal(new URL(lobby.url()).pathname, path);
      assert.equal(await lobby.locator('header nav').isVisible(), true);
    }
    if (SCREENS) await lobby.screenshot({ path: `${SCREENS}/outage-navigation.png` });
  });

  await t.test('an arena that is back', async () => {
    own.to('m_live_duel', (e) => e.type === 'round_closed');
    await own.restart();
    await all('detached');
    await lobby.locator(id('league-link')).first().waitFor();
    await pages.match.locator(`${id('match')}[data-seq="${own.match('m_live_duel').seq}"]`).waitFor();
  });

  await t.test('a frozen arena', async () => {
    const thaw = own.freeze();
    // The browser notices a change of the network, and the pages ask at once.
    for (const page of Object.values(pages)) await page.evaluate(() => void dispatchEvent(new Event('online')));
    await all('visible');
    thaw();
    await all('detached');
  });
});
