import { consoleEn, type ConsoleKey } from '$lib/i18n/console.en';
import { consoleEs } from '$lib/i18n/console.es';
import { fill, words, type Params } from '$lib/i18n/index.svelte';

// The console's texts. They come with the console, not with the first view.

const dictionary = () => (words.language === 'es' ? consoleEs : consoleEn);

export const tc = (key: ConsoleKey, params: Params = {}): string => fill(dictionary()[key], params);

/** The text of a key that is put together from data, or the fallback when there is none. */
export const tcx = (key: string, fallback: string, params: Params = {}): string => {
  const all = dictionary();
  return Object.hasOwn(all, key) ? fill(all[key as ConsoleKey], params) : fallback;
};
