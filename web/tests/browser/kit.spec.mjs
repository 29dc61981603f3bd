// What the browser tests stand on:
//
//   scripts/browser-test.sh kit.spec.mjs
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mapAll, open } from './kit/kit.mjs';

test('rows are read at one moment, while the page moves them', async () => {
  const { page, close } = await open('/leagues');
  await page.evaluate(() => {
    const list = document.createElement('ol');
    document.body.replaceChildren(list);
    for (let n = 0; n < 30; n++) list.append(document.createElement('li'));
    const rotate = () => {
      list.append(list.firstElementChild);
      [...list.children].forEach((row, n) => (row.dataset.place = n));
      setTimeout(rotate);
    };
    rotate();
  });
  const places = Array.from({ length: 30 }, (_, n) => n);
  for (let n = 0; n < 10; n++) assert.deepEqual(await mapAll(page, 'li', (row) => Number(row.dataset.place)), places);
  await close();
});
