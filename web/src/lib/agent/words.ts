import { agentEn, type AgentKey } from '../i18n/agent.en';
import { agentEs } from '../i18n/agent.es';
import { fill, words, type Params } from '../i18n/index.svelte';

// The texts of an agent's page that come with it, not with the first view.

const dictionary = () => (words.language === 'es' ? agentEs : agentEn);

export const ta = (key: AgentKey, params: Params = {}): string => fill(dictionary()[key], params);

/** The text of a key that is put together from data, or the fallback when there is none. */
export const tax = (key: string, fallback: string): string => (Object.hasOwn(dictionary(), key) ? dictionary()[key as AgentKey] : fallback);

/** Why a match that was won cost rating, by the rounds that were not compared. */
export const fellText = (leftOut: number): string => {
  if (!leftOut) return ta('fell.rounds');
  const base = 'fell.left';
  const form = new Intl.PluralRules(words.language).select(leftOut) === 'one' ? 'one' : 'other';
  return ta(`${base}_${form}`, { n: leftOut });
};
