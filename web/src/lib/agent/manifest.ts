import { isObject } from '../json';

/** What an agent's capability manifest says for its page. All of it is the agent's own claim. */
export interface Declared {
  /** Undefined when it names no model. */
  readonly pricing?: Pricing;
  readonly languages: string;
  /** The text of its privacy policy, an address as a rule. */
  readonly privacy: string;
  /** The address to link to, when it is one of the web. */
  readonly privacyURL?: string;
}

export interface Pricing {
  /** free, fixed, metered, subscription, or a text of its own. */
  readonly model: string;
  /** With the currency. */
  readonly sum?: string;
  readonly unit?: string;
}

/** Texts of a manifest longer than this are cut. */
const TEXT_MAX = 200;
const LANGUAGES_MAX = 40;

/** Reads a manifest ("Capability Manifest" of Agora 1.0); undefined when it names none of the three. */
export function declared(manifest: unknown, language: string): Declared | undefined {
  if (!isObject(manifest)) return undefined;
  const pricing = pricingOf(manifest['pricing'], language);
  const languages = languagesOf(manifest['supported_languages'], language);
  const privacy = textOf(manifest['privacy_policy']);
  if (!pricing && !languages && !privacy) return undefined;
  const link = /^https?:\/\//i.test(privacy) && URL.canParse(privacy);
  return { languages, privacy, ...(pricing ? { pricing } : {}), ...(link ? { privacyURL: new URL(privacy).href } : {}) };
}

function pricingOf(v: unknown, language: string): Pricing | undefined {
  if (!isObject(v)) return undefined;
  const model = textOf(v['model']);
  const rate = v['metered_rate'] ?? v['amount'];
  if (!model) return undefined;
  if (typeof rate !== 'number') return { model };
  const sum = `${new Intl.NumberFormat(language, { maximumSignificantDigits: 6 }).format(rate)} ${textOf(v['currency']) || 'USD'}`;
  const unit = textOf(v['metered_unit']);
  return { model, sum, ...(unit ? { unit } : {}) };
}

function languagesOf(v: unknown, language: string): string {
  if (!Array.isArray(v)) return '';
  const names = new Intl.DisplayNames(language, { type: 'language', fallback: 'code' });
  return v
    .map(textOf)
    .filter(Boolean)
    .slice(0, LANGUAGES_MAX)
    .map((code) => {
      try {
        return names.of(code) ?? code;
      } catch {
        return code; // not a language tag
      }
    })
    .join(', ');
}

const textOf = (v: unknown): string => (typeof v === 'string' ? v.slice(0, TEXT_MAX) : '');
