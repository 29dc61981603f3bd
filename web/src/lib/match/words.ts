import { textsOf } from '../i18n/index.svelte';
import { replayEn } from '../i18n/replay.en';
import { replayEs } from '../i18n/replay.es';

/** The texts of replays. They come with the replay, not with the first view. */
export const { t: tr } = textsOf(replayEn, replayEs);
