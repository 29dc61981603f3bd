import { en, type Dictionary, type Key } from './en';
import { part } from '../renew';
import { fill, type Params } from './fill';

export { fill, type Params };

export type Language = 'en' | 'es';
/** A key with _one and _other forms, without the ending. */
type PluralOf<K> = K extends `${infer Base}_one` ? Base : never;
export type PluralKey = PluralOf<Key>;

const KEY = 'arena.language';

class Words {
  language = $state<Language>('en');
  #words = $state.raw<Dictionary>(en);

  /** Takes the reader's language, before anything is drawn. */
  async begin(): Promise<void> {
    await this.use(stored() ?? (navigator.language.startsWith('es') ? 'es' : 'en'), false);
  }

  async use(language: Language, keep = true): Promise<void> {
    this.#words = language === 'es' ? (await part(() => import('./es'))).es : en;
    this.language = language;
    document.documentElement.lang = language;
    if (keep) store(language);
  }

  readonly t = (key: Key, params: Params = {}): string => fill(this.#words[key], params);

  readonly tn = (base: PluralKey, n: number, params: Params = {}): string =>
    fill(this.#words[`${base}_${form(this.language, n)}` as Key], { n, ...params });

  /** The text of a key that is put together from data, or the fallback when there is none. */
  readonly tx = (key: string, fallback: string, params: Params = {}): string =>
    Object.hasOwn(this.#words, key) ? fill(this.#words[key as Key], params) : fallback;
}

/** The ending of the text for a number of things. */
const form = (language: Language, n: number) => (new Intl.PluralRules(language).select(n) === 'one' ? 'one' : 'other');

function stored(): Language | undefined {
  try {
    const value = localStorage.getItem(KEY);
    return value === 'en' || value === 'es' ? value : undefined;
  } catch {
    return undefined;
  }
}

function store(language: Language): void {
  try {
    localStorage.setItem(KEY, language);
  } catch {
    // No storage: the choice lives as long as the page.
  }
}

export const words = new Words();
export const { t, tn, tx } = words;

/** The texts of a part of the pages that has dictionaries of its own, in the reader's language. */
export function textsOf<K extends string>(en: Readonly<Record<K, string>>, es: Readonly<Record<K, string>>) {
  const dictionary = () => (words.language === 'es' ? es : en);
  return {
    t: (key: K, params: Params = {}): string => fill(dictionary()[key], params),
    tn: (base: PluralOf<K>, n: number, params: Params = {}): string =>
      fill(dictionary()[`${base}_${form(words.language, n)}` as K], { n, ...params }),
    /** The text of a key that is put together from data, or the fallback when there is none. */
    tx: (key: string, fallback: string, params: Params = {}): string =>
      Object.hasOwn(dictionary(), key) ? fill(dictionary()[key as K], params) : fallback,
  };
}
