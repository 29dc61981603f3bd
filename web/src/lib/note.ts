import { t, tn } from './i18n/index.svelte';

// The scheduler's notes in the reader's words. One that is not known is shown
// as it came.

const NOTES: readonly (readonly [RegExp, (found: readonly string[]) => string])[] = [
  [/^needs (\d+) idle agents, has (\d+)$/, ([, n = '', has = '']) => t('note.needs', { n, has })],
  [/^round (\d+) waits for (.+)$/s, ([, n = '', name = '']) => t('note.waits', { n, name })],
  [/^(\d+) agents are ready; (\d+) still play elsewhere$/, ([, n = '', busy = '']) => t('note.gathers', { n, busy })],
  [/^(\d+) idle agents have just met/, ([, n = '']) => tn('note.met', Number(n))],
];

export function noteOf(note: string): string {
  for (const [pattern, say] of NOTES) {
    const found = pattern.exec(note);
    if (found) return say(found);
  }
  return note;
}
