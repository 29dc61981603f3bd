import { agentEn } from '../i18n/agent.en';
import { agentEs } from '../i18n/agent.es';
import { textsOf } from '../i18n/index.svelte';

/** The texts of an agent's page that come with it, not with the first view. */
export const { t: ta, tn: tan, tx: tax } = textsOf(agentEn, agentEs);

/** Why a match that was won cost rating, by the rounds that were not compared. */
export const fellText = (leftOut: number): string => (leftOut ? tan('fell.left', leftOut) : ta('fell.rounds'));
