import { adminEn, type AdminKey } from '$lib/i18n/admin.en';
import { adminEs } from '$lib/i18n/admin.es';
import { fill, words, type Params } from '$lib/i18n/index.svelte';

// The admin console's texts. They come with it, not with the first view.

const dictionary = () => (words.language === 'es' ? adminEs : adminEn);

export const ta = (key: AdminKey, params: Params = {}): string => fill(dictionary()[key], params);

/** The text of a key that is put together from data, or the fallback when there is none. */
export const tax = (key: string, fallback: string, params: Params = {}): string => {
  const all = dictionary();
  return Object.hasOwn(all, key) ? fill(all[key as AdminKey], params) : fallback;
};
