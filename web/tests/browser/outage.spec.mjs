// The pages while the arena is gone: an arena of its own is killed, started
// again at the same address, and frozen. How long the pages take to come back
// is reported; that they do within 3 s is a matter of lib/contact.test.ts.
//
//   scripts/browser-test.sh outage.spec.mjs
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { id, open, PATIENCE, SCREENS, until } from './kit/kit.mjs';

const ARENA = fileURLToPath(new URL('../../../bin/arena', import.meta.url));
const STALE = id('stale');

/** An arena with its demo agents; it is started at the address it had before, and ended with the test. */
async function ownArena(t) {
  const folder = await mkdtemp(join(tmpdir(), 'arena-outage-'));
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('ARENA_')));
  let process_;
  let address = '127.0.0.1:0';
  const end = async (signal) => {
    if (!process_ || process_.exitCode !== null || process_.signalCode !== null) return;
    const exit = once(process_, 'exit');
    process_.kill(signal);
    await exit;
  };
  const arena = {
    kill: () => end('SIGKILL'),
    signal: (name) => process_.kill(name),
    async start() {
      const ready = join(folder, `ready-${Date.now()}.json`);
      process_ = spawn(ARENA, ['demo', '--addr', address, '--data', join(folder, 'data'), '--ready-file', ready], { env, stdio: 'ignore' });
      const { url } = await until(
        'ready file',
        () =>
          readFile(ready, 'utf8').then(
            (text) => JSON.parse(text),
            () => undefined,
          ),
        PATIENCE,
      );
      arena.url = url;
      address = new URL(url).host;
    },
  };
  t.after(async () => {
    await end('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  });
  await arena.start();
  return arena;
}

test('every page says that it is stale, stays in its frame, and catches up', { timeout: 4 * PATIENCE }, async (t) => {
  const arena = await ownArena(t);
  const read = async (path) => (await fetch(arena.url + path)).json();
  const match = await until(
    'live duel',
    async () => (await read('/v1/matches?status=running&limit=100')).items.find((m) => m.seats.length === 2 && m.round > 0),
    PATIENCE,
  );
  const at = async (path, ready, options) => {
    const tab = await open(path, { origin: arena.url, ...options });
    await tab.settled(ready);
    return tab.page;
  };
  const lobby = await at('/', `${id('lobby')}[data-ready="true"]`);
  const pages = {
    lobby,
    match: await at(`/m/${match.match_id}`, `${id('match')}[data-ready="true"]`, { width: 390, height: 844 }),
    league: await at(`/l/${match.league}`, `${id('league')}[aria-busy="false"]`),
    frame: await at(`/embed/matches/${match.match_id}`, id('embed')),
    screen: await at('/tv', id('tv')),
  };
  const all = (state) => Promise.all(Object.values(pages).map((page) => page.locator(STALE).waitFor({ state, timeout: PATIENCE })));
  const shown = await pages.match.locator(id('match')).getAttribute('data-seq');

  await t.test('a killed arena', async () => {
    await arena.kill();
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
    await arena.start();
    const back = Date.now();
    await all('detached');
    t.diagnostic(`all pages back ${Date.now() - back} ms after the arena said that it is ready`);
    await lobby.locator(id('league-link')).first().waitFor();
    const { seq } = await read(`/v1/matches/${match.match_id}`);
    await until('caught up match', async () => Number(await pages.match.locator(id('match')).getAttribute('data-seq')) >= seq, PATIENCE);
  });

  await t.test('a frozen arena', async () => {
    arena.signal('SIGSTOP');
    // The browser notices a change of the network, and the pages ask at once.
    for (const page of Object.values(pages)) await page.evaluate(() => void dispatchEvent(new Event('online')));
    await all('visible');
    arena.signal('SIGCONT');
    const back = Date.now();
    await all('detached');
    t.diagnostic(`all pages back ${Date.now() - back} ms after the arena went on`);
  });
});
