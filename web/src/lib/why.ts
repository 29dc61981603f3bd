// Reasons of the server in the reader's words, by their codes. One without a
// code, or with a code that is not known here, is shown as it came.
import { clockTime } from './format';
import { t, tx, words, type Params } from './i18n';

/** Why a match is void or canceled. */
export const voidText = (reason = '', code?: string): string => (code ? tx(`void.${code}`, reason, { reason }) : reason);

/** The members of a league that explain why it is not pairing. */
export type Noted = { note?: string; note_code?: string; note_params?: Params };

/** Cheats and leaks that an audit found, by their names. */
const cheatsText = (names: string): string =>
  names
    .split(', ')
    .map((name) => tx(`audit.cheat.${name}`, tx(`audit.found.${name}`, name)))
    .join('; ');

/** Why a league is not pairing. */
export const noteText = ({ note = '', note_code, note_params = {} }: Noted): string => {
  const values = note_code === 'audit' ? { ...note_params, cheats: cheatsText(String(note_params['cheats'])) } : note_params;
  const text = note_code ? tx(`note.${note_code}`, note, values) : note;
  const until = Date.parse(String(note_params['until'] ?? ''));
  return text === note || Number.isNaN(until) ? text : t('league.note.until', { note: text, time: clockTime(until, words.language) });
};
