import { loaded } from '../renew';
import { store, stored } from '../storage';
import { fill, type Params } from './fill';

export type Language = 'en' | 'es';
/** The texts of an area in a language other than English: the same keys, no others. */
export type Translation<English> = Readonly<Record<keyof English, string>>;

/** A key of any area. A file with a key of an area other than the first view imports its English texts. */
export type Key =
  | keyof typeof import('./en').texts
  | keyof typeof import('./admin.en').texts
  | keyof typeof import('./agent.en').texts
  | keyof typeof import('./commentary.en').texts
  | keyof typeof import('./compare.en').texts
  | keyof typeof import('./console.en').texts
  | keyof typeof import('./find.en').texts
  | keyof typeof import('./game.en').texts
  | keyof typeof import('./next.en').texts
  | keyof typeof import('./replay.en').texts
  | keyof typeof import('./season.en').texts;
/** A key with _one and _other forms, without the ending. */
export type PluralKey = Key extends infer K ? (K extends `${infer Base}_one` ? Base : never) : never;

type Texts = Readonly<Record<string, string>>;
type Load = () => Promise<{ readonly texts: Texts }>;

const KEY = 'arena.language';

class Words {
  language = $state<Language>('en');
  #chosen: Language = 'en';
  readonly #texts: Record<Language, Record<string, string>> = { en: {}, es: {} };
  readonly #spanish: Load[] = [];

  /** Adds the texts of an area. English comes with the code of the area, Spanish when someone reads it. */
  add(english: Texts, spanish: Load): void {
    Object.assign(this.#texts.en, english);
    this.#spanish.push(spanish);
  }

  /** Takes the reader's language, before anything is drawn. */
  async begin(): Promise<void> {
    await this.use(chosen() ?? (navigator.language.startsWith('es') ? 'es' : 'en'), false);
  }

  async use(language: Language, keep = true): Promise<void> {
    this.#chosen = language;
    await this.complete();
    if (this.#chosen !== language) return;
    this.language = language;
    document.documentElement.lang = language;
    if (keep) store(KEY, language);
  }

  /** Loads what is missing of the areas that were added, in the reader's language. */
  async complete(): Promise<void> {
    if (this.#chosen === 'en') return;
    for (const { texts } of await Promise.all(this.#spanish.map(loaded))) Object.assign(this.#texts.es, texts);
  }

  /** The text of a key. */
  readonly t = (key: Key, params: Params = {}): string => this.tx(key, key, params);

  /** The text of a key for a number of things. */
  readonly tn = (base: PluralKey, n: number, params: Params = {}): string => {
    const key = `${base}_${new Intl.PluralRules(this.language).select(n) === 'one' ? 'one' : 'other'}`;
    return this.tx(key, key, { n, ...params });
  };

  /** The text of a key that is put together from data, or the fallback when there is none. */
  readonly tx = (key: string, fallback: string, params: Params = {}): string => {
    const texts = this.#texts[this.language];
    return Object.hasOwn(texts, key) ? fill(texts[key]!, params) : fallback;
  };
}

function chosen(): Language | undefined {
  const value = stored(KEY);
  return value === 'en' || value === 'es' ? value : undefined;
}

export const words = new Words();
