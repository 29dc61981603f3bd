// Uploads games, and makes, edits and copies a league that plays one, in headless Chromium:
//
//   scripts/browser-test.sh admin-games.spec.mjs
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { demo } from './kit/arena.mjs';
import { ADMIN, api, counted, id, mapAll, once, open, PATIENCE, rewrite, SCREENS, send, unfold } from './kit/kit.mjs';

await demo();
const KEPT = { 'arena.admin': ADMIN };
const SCREENS_OF = [
  [1440, 'dark'],
  [1440, 'light'],
  [390, 'dark'],
  [390, 'light'],
];
const NIM = await readFile(new URL('../../../examples/games/nim.js', import.meta.url), 'utf8');
const file = (source) => ({ name: 'nim.js', mimeType: 'text/javascript', buffer: Buffer.from(source) });

test('an admin uploads a game; a bad one is refused with the line and the reason', { timeout: 2 * PATIENCE }, async () => {
  const { page, faults, close } = await open('/admin/games', { kept: KEPT, refusals: true });
  await page.locator(`${id('games')} li`, { hasText: 'connect_four' }).waitFor();
  const upload = page.locator(id('upload-game'));
  await upload.locator('[type="file"]').setInputFiles(file(NIM.replace('state.next = 1', "throw new Error('no sticks'); state.next = 1")));
  await upload.locator('button').click();
  await page.locator(id('trouble'), { hasText: /move: 18:9: Error: no sticks/ }).waitFor();
  assert.equal((await send('GET', '/v1/games/nim')).status, 404);
  if (SCREENS) await page.screenshot({ path: `${SCREENS}/admin-games-refused-1440-dark.png` });

  await upload.locator('[type="file"]').setInputFiles(file(NIM));
  await upload.locator('button').click();
  // The worker that plays the games runs at the lowest priority, and all tests beside it.
  await page.locator(id('game-made'), { hasText: /nim, version 1/i }).waitFor({ timeout: PATIENCE });
  await page.locator(id('game-version'), { hasText: 'version 1' }).waitFor();
  assert.equal((await (await send('GET', '/v1/games/nim')).json()).source, NIM);
  assert.deepEqual(faults, []);
  await close();
});

test('an organizer makes a league of a game without a word about judges, edits it and copies it', { timeout: PATIENCE }, async () => {
  const slug = `dice-${once()}`;
  const { page, faults, close } = await open('/admin/leagues/new/scratch', { kept: KEPT });
  const form = page.locator(id('league-form'));
  const save = page.locator(id('league-save'));
  const field = (name) => form.locator(`[name="${name}"]`);
  const options = (name) => mapAll(page, `${id('league-form')} [name="${name}"] option`, (o) => o.value);
  const seen = new Set(); // every field of every screen
  const picture = async (name) => {
    for (const f of await mapAll(page, `${id('league-form')} [name]`, (e) => e.getAttribute('name'))) seen.add(f);
    if (!SCREENS) return;
    for (const [width, colorScheme] of SCREENS_OF) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme });
      await page.screenshot({ path: `${SCREENS}/game-league-${name}-${width}-${colorScheme}.png`, fullPage: true });
    }
    await page.setViewportSize({ width: 1440, height: 900 });
  };

  await field('title').fill(slug);
  await field('plays').selectOption('game');
  assert.ok(!(await options('format')).includes('elimination'));
  await field('game').selectOption('connect_four');
  await field('game').selectOption('liars_dice');
  await counted(field('duplicate'), 0, 'its hands are hidden');
  await field('game_dice').fill('3');
  await field('game_wilds').uncheck();
  await unfold(page, 'about');
  await unfold(page, 'tasks');
  await field('games_per_match').fill('4');
  await unfold(page, 'play');
  assert.deepEqual(await options('visibility'), ['sealed', 'delayed']);
  await field('time_bank_seconds').fill('90');
  await unfold(page, 'when');
  let release;
  const held = new Promise((resolve) => (release = resolve));
  await rewrite(page, '**/v1/agents?*', async ({ items, ...rest }) => {
    await held;
    return { ...rest, items: items.map((a) => ({ ...a, name: a.name.padEnd(40, 'W') })) };
  });
  await unfold(page, 'who');
  await field('allow-find').waitFor();
  const { y } = await save.boundingBox();
  release();
  await page
    .locator(`${id('picker')} .tick`)
    .first()
    .waitFor();
  assert.equal((await save.boundingBox()).y, y, 'the list of agents moved the button when it came');
  await picture('form');
  for (const name of ['judge', 'source', 'pack_id', 'rounds', 'max_rounds', 'canary', 'score_mode'])
    assert.ok(!seen.has(name), `a game asks for ${name}`);
  await save.click();
  await page.locator(`${id('admin-league')}[data-league="${slug}"]`).waitFor();
  const game = {
    name: 'liars_dice',
    hidden: true,
    games_per_match: 4,
    duplicate: false,
    time_bank_seconds: 90,
    show_legal_moves: true,
    dice: 3,
    wilds: 0,
  };
  const made = await api(`/v1/leagues/${slug}`);
  assert.deepEqual([made.game, made.visibility, made.score_mode, made.rounds], [game, 'sealed', 'result', null]);

  // Its page names the game, and no judge.
  await page.goto(page.url().replace('/admin/leagues', `/l/${slug}`));
  await page.locator(id('league-game'), { hasText: 'Liar’s dice, 4 games a match, 10 s a move + 90 s bank' }).waitFor();
  const rules = await page.locator(id('rules')).textContent();
  assert.match(rules, /4 games of Liar’s dice.*dice 3, wilds 0/s);
  assert.doesNotMatch(rules, /Judge|null|0 rounds|which round is the last/);
  await picture('page');

  // An edit and a copy keep the game.
  await page.goto(page.url().replace(`/l/${slug}`, '/admin/leagues'));
  const row = page.locator(`${id('admin-league')}[data-league="${slug}"]`);
  await row.locator(id('league-edit')).click();
  await unfold(page, 'tasks');
  await counted(field('game'), 0);
  await field('games_per_match').fill('2');
  await picture('edit');
  await save.click();
  await row.locator(id('league-copy')).click();
  await field('title').fill(`${slug} two`);
  await save.click();
  await page.locator(`${id('admin-league')}[data-league="${slug}-two"]`).waitFor();
  for (const name of [slug, `${slug}-two`]) assert.deepEqual((await api(`/v1/leagues/${name}`)).game, { ...game, games_per_match: 2 });
  assert.deepEqual(faults, []);
  await close();
});
