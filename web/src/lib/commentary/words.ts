import type { CommentaryKey } from '../i18n/commentary.en';
import { words } from '../i18n/index.svelte';
import type { Line } from './commentary';
import { dictionary, textOf } from './text';

/** The texts of the commentary and its switch, in the reader's language. */
export const tc = (key: CommentaryKey): string => dictionary(words.language)[key];

export const say = (line: Line): string => textOf(line, words.language);
