import { gameEn } from '../i18n/game.en';
import { gameEs } from '../i18n/game.es';
import { textsOf } from '../i18n/index.svelte';

/** The texts of games. They come with the board, not with the first view. */
export const { t: tg } = textsOf(gameEn, gameEs);
