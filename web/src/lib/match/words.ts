import { fill, words, type Params } from '../i18n/index.svelte';
import { replayEn, type ReplayKey } from '../i18n/replay.en';
import { replayEs } from '../i18n/replay.es';

/** The texts of replays. They come with the replay, not with the first view. */
export const tr = (key: ReplayKey, params: Params = {}): string => fill((words.language === 'es' ? replayEs : replayEn)[key], params);
