import { textsOf } from '$lib/i18n/index.svelte';
import { wizardEn } from '$lib/i18n/wizard.en';
import { wizardEs } from '$lib/i18n/wizard.es';

/** The texts of what a league plays. They come with the admin console. */
export const { t: tw, tx: twx } = textsOf(wizardEn, wizardEs);
