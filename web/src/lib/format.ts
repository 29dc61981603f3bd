// Numbers and times in the reader's language. Digits are always tabular, see
// the style sheets.

// A formatter costs far more to make than to use, and lines with a time in them come by the hundred.
const made = new Map<string, Intl.NumberFormat>();
function numbers(language: string, options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const key = language + JSON.stringify(options);
  let format = made.get(key);
  if (!format) made.set(key, (format = new Intl.NumberFormat(language, options)));
  return format;
}

const MINUS = '\u2212';

/** Whole Elo. */
export const elo = (rating: number): string => String(Math.round(rating));

/** A rating change with its sign: +16, −8, ±0. */
export function delta(d: number): string {
  const whole = Math.round(d);
  return whole > 0 ? `+${whole}` : whole < 0 ? `${MINUS}${-whole}` : '±0';
}

/** Points: 3, 0.5, 0.33. */
export const points = (p: number, language = 'en'): string => numbers(language, { maximumFractionDigits: 2 }).format(p);

/** Points side by side, with equally many decimals: 1.5 and 2.0. */
export function scoreline(all: readonly number[], language = 'en'): string[] {
  const decimals = Math.max(0, ...all.map((p) => [0, 1, 2].find((d) => Math.abs(p - Number(p.toFixed(d))) < 1e-9) ?? 2));
  const format = numbers(language, { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  return all.map((p) => format.format(p));
}

/** A whole number: 1,234. */
export const count = (n: number, language = 'en'): string =>
  numbers(language, { maximumFractionDigits: 0, notation: n < 1e9 ? 'standard' : 'scientific' }).format(n);

/** Space on a disk: 7.5 GiB, 120 GiB. */
export const gib = (bytes: number, language = 'en'): string =>
  `${numbers(language, { maximumFractionDigits: bytes < 10 * 2 ** 30 ? 1 : 0 }).format(bytes / 2 ** 30)}\u00a0GiB`;

/** A duration in seconds, with tenths below a minute: 0.4 s, 12.0 s, 1:05. */
export function duration(ms: number, language = 'en'): string {
  if (ms >= 60_000) return countdown(ms);
  const s = numbers(language, { minimumFractionDigits: 1, maximumFractionDigits: 1 }).format(ms / 1000);
  return `${s} s`;
}

/** A duration in whole milliseconds: 1,234 ms. */
export const milliseconds = (ms: number, language = 'en'): string => `${count(Math.round(ms), language)}\u00a0ms`;

/** What is left, rounded up to whole seconds: 0:09, 2:10, 1:02:03. */
export function countdown(ms: number): string {
  const all = Math.max(0, Math.ceil(ms / 1000));
  const pad = (n: number) => String(n).padStart(2, '0');
  const [h, m, s] = [Math.floor(all / 3600), Math.floor(all / 60) % 60, all % 60];
  return h ? `${h}:${pad(m)}:${pad(s)}` : `${m}:${pad(s)}`;
}

const STEPS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
];

/** How long ago, or how soon: "3 min. ago". Undefined when it is less than a minute. */
export function relative(at: number, now: number, language = 'en'): string | undefined {
  const diff = at - now;
  for (const [unit, ms] of STEPS) {
    if (Math.abs(diff) >= ms) {
      return new Intl.RelativeTimeFormat(language, { style: 'short' }).format(Math.trunc(diff / ms), unit);
    }
  }
  return undefined;
}

/** Date and time to the second, in the reader's zone. */
export const exact = (ts: string, language = 'en'): string =>
  new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'medium', hourCycle: 'h23' }).format(new Date(ts));

/** The time of day to the second, in the reader's zone. */
export const clockTime = (at: number, language = 'en'): string =>
  new Intl.DateTimeFormat(language, { timeStyle: 'medium', hourCycle: 'h23' }).format(at);

export const percent = (part: number, language = 'en'): string =>
  numbers(language, { style: 'percent', maximumFractionDigits: 0 }).format(part);

/** A name inside a sentence: its writing direction does not affect the words around it (U+2068 and U+2069). */
export const isolated = (name: string): string => `\u2068${name}\u2069`;
