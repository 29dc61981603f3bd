import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

test('the README shows the examples, which are short', () => {
  for (const [name, lines] of [['connect', 12], ['agent', 20]] as const) {
    const example = read(`examples/${name}.mjs`);
    assert.ok(read('README.md').includes('```js\n' + example + '```'), name);
    assert.ok(example.trimEnd().split('\n').length <= lines, name);
  }
});

test('the README names every setting', () => {
  const settings = [...read('src/config.ts').matchAll(/^ {2}(\w+)\??: .*;$/gm)].map((m) => m[1]);
  assert.ok(settings.length >= 12);
  for (const name of settings) assert.ok(read('README.md').includes('`' + name + '`'), name);
});
