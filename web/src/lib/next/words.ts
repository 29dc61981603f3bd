import { textsOf } from '../i18n/index.svelte';
import { nextEn } from '../i18n/next.en';
import { nextEs } from '../i18n/next.es';

/** The texts about what to watch next, TV mode and following. */
export const { t: tnx } = textsOf(nextEn, nextEs);
