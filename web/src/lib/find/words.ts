import { textsOf } from '../i18n/index.svelte';
import { findEn } from '../i18n/find.en';
import { findEs } from '../i18n/find.es';

/** The texts of the pages that find things. */
export const { t: tf } = textsOf(findEn, findEs);
