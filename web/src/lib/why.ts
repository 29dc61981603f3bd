// Reasons of the server in the reader's words, by their codes. One without a
// code, or with a code that is not known here, is shown as it came.
import type { Params } from './i18n/fill';

/** The text of a key, or the fallback when there is none. */
export type Text = (key: string, fallback: string, params?: Params) => string;

/** Why a match is void or canceled. */
export const voidText = (tx: Text, reason = '', code?: string): string => (code ? tx(`void.${code}`, reason, { reason }) : reason);

/** The members of a league that explain why it is not pairing. */
export type Noted = { note?: string; note_code?: string; note_params?: Params };

/** Why a league is not pairing. */
export const noteText = (tx: Text, { note = '', note_code, note_params = {} }: Noted): string =>
  note_code ? tx(`note.${note_code}`, note, note_params) : note;
