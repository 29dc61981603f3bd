import { adminEn } from '$lib/i18n/admin.en';
import { adminEs } from '$lib/i18n/admin.es';
import { textsOf } from '$lib/i18n/index.svelte';

/** The admin console's texts. They come with it, not with the first view. */
export const { t: ta, tn: tan, tx: tax } = textsOf(adminEn, adminEs);
