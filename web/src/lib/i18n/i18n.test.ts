import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { tn } from '.';
import './agent.en';

type Texts = Readonly<Record<string, string>>;
const load = async (file: string): Promise<Texts> => ((await import(`./${file}.ts`)) as { texts: Texts }).texts;
// Areas besides the first view. Each has a dictionary for each language, and keys that begin with its name.
const areas = readdirSync('src/lib/i18n').flatMap((file) => /^(\w+)\.en\.ts$/.exec(file)?.slice(1) ?? []);
const dictionaries: [area: string | undefined, en: Texts, es: Texts][] = [[undefined, await load('en'), await load('es')]];
for (const area of areas) dictionaries.push([area, await load(`${area}.en`), await load(`${area}.es`)]);

const sources = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((f) => /\.(svelte|ts)$/.test(f) && !f.includes('i18n') && !f.endsWith('.d.ts'))
  .map((f) => [f, readFileSync(`src/${f}`, 'utf8')] as const);
const all = sources.map(([, text]) => text).join('\n');
const built = [...all.matchAll(/`([a-z_]+\.(?:[a-z_]+\.)*)\$\{/g)].map((m) => m[1]!);

const placeholders = (text: string) => [...text.matchAll(/\{\w+\}/g)].map((m) => m[0]).sort();
const areaOf = (key: string) => areas.find((area) => key.startsWith(`${area}.`));

describe.each(dictionaries)('the dictionary of %s', (area, en, es) => {
  it('has the same keys, the same blanks and some text in both languages', () => {
    expect(Object.keys(es).sort()).toEqual(Object.keys(en).sort());
    for (const key of Object.keys(en)) {
      expect(es[key]!.trim(), key).not.toBe('');
      expect(placeholders(es[key]!), key).toEqual(placeholders(en[key]!));
    }
  });

  it('has the keys of its area, each with a use, and both forms of every plural', () => {
    for (const key of Object.keys(en)) {
      const base = key.replace(/_(one|other)$/, '');
      expect(areaOf(key), key).toBe(area);
      if (key.endsWith('_one')) expect(en).toHaveProperty([`${base}_other`]);
      expect(all.includes(`'${base}'`) || all.includes(`"${base}"`) || built.some((prefix) => key.startsWith(prefix)), key).toBe(true);
    }
  });
});

// A key of an area that nobody loaded would be shown in place of its text.
it.each(dictionaries.slice(1))('a file that shows a text of %s loads its dictionary', (area, en) => {
  const keys = Object.keys(en).map((key) => key.replace(/_(one|other)$/, ''));
  const missing = sources.filter(
    ([, text]) =>
      /import \{[^}]*\bt[nx]?\b[^}]*\} from '[^']*i18n'/.test(text) &&
      !text.includes(`i18n/${area}.en'`) &&
      [...text.matchAll(/['"`]([a-z_]+\.[\w.]*)(\$\{)?/g)].some(([, part, open]) =>
        open ? keys.some((key) => key.startsWith(part!)) : keys.includes(part!),
      ),
  );
  expect(missing.map(([file]) => file)).toEqual([]);
});

it('a text has the form of its number, and the number as it is formatted', () => {
  expect([1, 2, 0].map((n) => tn('agent.results.of', n))).toEqual(['of its last round', 'of its last 2 rounds', 'of its last 0 rounds']);
  expect(tn('match.points', 1200, { n: '1,200' })).toBe('1,200 points');
});
