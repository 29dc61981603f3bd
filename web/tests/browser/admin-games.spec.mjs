// Uploads games in the admin console, in headless Chromium:
//
//   scripts/browser-test.sh admin-games.spec.mjs
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { ADMIN, id, open, PATIENCE, SCREENS, send } from './kit/kit.mjs';

const KEPT = { 'arena.admin': ADMIN };
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
  await page.locator(id('game-made'), { hasText: /Nim|nim, version 1/ }).waitFor();
  await page.locator(id('game-version'), { hasText: 'version 1' }).waitFor();
  assert.equal((await (await send('GET', '/v1/games/nim')).json()).source, NIM);
  assert.deepEqual(faults, []);
  await close();
});
