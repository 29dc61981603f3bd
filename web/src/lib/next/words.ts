import { fill, words, type Params } from '../i18n/index.svelte';
import { nextEn, type NextKey } from '../i18n/next.en';
import { nextEs } from '../i18n/next.es';

/** The texts about what to watch next, TV mode and following. */
export const tnx = (key: NextKey, params: Params = {}): string => fill((words.language === 'es' ? nextEs : nextEn)[key], params);
