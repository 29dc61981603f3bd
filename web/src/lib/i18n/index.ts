import './en';
import { words } from './words.svelte';

export { fill, type Params } from './fill';
export { words, type Key, type Language, type PluralKey } from './words.svelte';
export const { t, tn, tx } = words;
