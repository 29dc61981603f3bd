import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

test('the README shows the example, and an agent has 20 lines at most', () => {
  const example = read('examples/agent.mjs');
  assert.ok(read('README.md').includes('```js\n' + example + '```'));
  assert.ok(example.trimEnd().split('\n').length <= 20);
});

test('the README names every setting', () => {
  const settings = [...read('src/config.ts').matchAll(/^ {2}(\w+)\??: .*;$/gm)].map((m) => m[1]);
  assert.ok(settings.length >= 12);
  for (const name of settings) assert.ok(read('README.md').includes('`' + name + '`'), name);
});
