import { fill, words, type Params } from '../i18n/index.svelte';
import { storyEn, type StoryKey } from '../i18n/story.en';
import { storyEs } from '../i18n/story.es';

/** The texts of the story of a season. */
export const ts = (key: StoryKey, params: Params = {}): string => fill((words.language === 'es' ? storyEs : storyEn)[key], params);
