import { findEn, type FindKey } from '../i18n/find.en';
import { findEs } from '../i18n/find.es';
import { fill, words, type Params } from '../i18n/index.svelte';

/** The texts of the pages that find things. */
export const tf = (key: FindKey, params: Params = {}): string => fill((words.language === 'es' ? findEs : findEn)[key], params);
