import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { agentEn } from './agent.en';
import { agentEs } from './agent.es';
import { adminEn } from './admin.en';
import { adminEs } from './admin.es';
import { commentaryEn } from './commentary.en';
import { commentaryEs } from './commentary.es';
import { consoleEn } from './console.en';
import { consoleEs } from './console.es';
import { en } from './en';
import { es } from './es';
import { findEn } from './find.en';
import { findEs } from './find.es';
import { gameEn } from './game.en';
import { gameEs } from './game.es';
import { nextEn } from './next.en';
import { nextEs } from './next.es';
import { replayEn } from './replay.en';
import { replayEs } from './replay.es';
import { storyEn } from './story.en';
import { storyEs } from './story.es';
import { wizardEn } from './wizard.en';
import { wizardEs } from './wizard.es';

const placeholders = (text: string) => [...text.matchAll(/\{\w+\}/g)].map((m) => m[0]).sort();

const PAIRS: readonly (readonly [string, Readonly<Record<string, string>>, Readonly<Record<string, string>>])[] = [
  ['page', en, es],
  ['console', consoleEn, consoleEs],
  ['replay', replayEn, replayEs],
  ['agent', agentEn, agentEs],
  ['admin console', adminEn, adminEs],
  ['finding', findEn, findEs],
  ['next match', nextEn, nextEs],
  ['games', gameEn, gameEs],
  ['story of a season', storyEn, storyEs],
  ['commentary', commentaryEn, commentaryEs],
  ['wizard', wizardEn, wizardEs],
];

describe.each(PAIRS)('the dictionaries of the %s', (_, en, es) => {
  it('have the same keys', () => {
    expect(Object.keys(es).sort()).toEqual(Object.keys(en).sort());
  });

  it.each(Object.keys(en))('%s has the same blanks and some text', (key) => {
    expect(es[key]!.trim()).not.toBe('');
    expect(placeholders(es[key]!)).toEqual(placeholders(en[key]!));
  });

  it('have both forms of every plural', () => {
    for (const key of Object.keys(en)) {
      if (key.endsWith('_one')) expect(en).toHaveProperty([key.replace(/_one$/, '_other')]);
    }
  });

  it('have no key that nothing uses', () => {
    const files = readdirSync('src', { recursive: true, encoding: 'utf8' })
      .filter((f) => /\.(svelte|ts)$/.test(f) && !f.includes('i18n'))
      .map((f) => readFileSync(`src/${f}`, 'utf8'))
      .join('\n');
    const built = [...files.matchAll(/`([a-z_]+\.(?:[a-z_]+\.)*)\$\{/g)].map((m) => m[1]!);
    const unused = Object.keys(en).filter((key) => {
      const base = key.replace(/_(one|other)$/, '');
      return !files.includes(`'${base}'`) && !files.includes(`"${base}"`) && !built.some((prefix) => key.startsWith(prefix));
    });
    expect(unused).toEqual([]);
  });
});
