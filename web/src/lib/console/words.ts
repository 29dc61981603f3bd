import { consoleEn } from '$lib/i18n/console.en';
import { consoleEs } from '$lib/i18n/console.es';
import { textsOf } from '$lib/i18n/index.svelte';

/** The console's texts. They come with the console, not with the first view. */
export const { t: tc, tn: tcn, tx: tcx } = textsOf(consoleEn, consoleEs);
