import { textsOf } from '../i18n/index.svelte';
import { storyEn } from '../i18n/story.en';
import { storyEs } from '../i18n/story.es';

/** The texts of the story of a season. */
export const { t: ts } = textsOf(storyEn, storyEs);
