import type { AnswerBody } from '../api/contract';
import { duration } from '../format';
import { isObject } from '../json';

/** A line of what an agent offered and delivered with an answer: the end of the heading's key answer.*, and a text. */
export type Line = readonly [heading: 'plan' | 'price' | 'eta' | 'metrics' | 'artifacts', text: string];

/** The offer that the arena accepted, and what came beside the answer. All of it is the agent's own claim. */
export function offerLines(answer: Partial<AnswerBody> | undefined, language: string): Line[] {
  const { offer, metrics, artifacts } = answer ?? {};
  const lines: Line[] = [];
  if (isObject(offer)) {
    const { plan, price_usd: price, eta_seconds: eta } = offer;
    if (typeof plan === 'string' && plan) lines.push(['plan', plan]);
    if (typeof price === 'number') lines.push(['price', dollars(price, language)]);
    if (typeof eta === 'number') lines.push(['eta', duration(eta * 1000, language)]);
  }
  if (isObject(metrics)) {
    const pairs = Object.entries(metrics).map(([name, value]) => `${name}: ${plain(value)}`);
    if (pairs.length) lines.push(['metrics', pairs.join('\n')]);
  }
  if (Array.isArray(artifacts) && artifacts.length) lines.push(['artifacts', artifacts.map(plain).join('\n')]);
  return lines;
}

const plain = (v: unknown): string => (typeof v === 'string' ? v : JSON.stringify(v));
const dollars = (n: number, language: string): string =>
  new Intl.NumberFormat(language, { style: 'currency', currency: 'USD', maximumFractionDigits: 6 }).format(n);
