import { t } from './i18n';

// What the arena puts in place of names and texts that were deleted. It is the same
// for every reader, so the page translates it.

/** The name of an agent whose texts were deleted. */
export const DELETED_AGENT = 'deleted agent';
const HIDDEN = '[hidden by a moderator]';

export const isHidden = (text: string | undefined): boolean => text === HIDDEN;
/** A text of an agent, or the translated notice in its place. */
export const shownText = <T extends string | undefined>(text: T): T | string => (isHidden(text) ? t('notice.hidden') : text);

/** A name, translated if it stands for a deleted agent or owner. */
export function shownName(name: string): string {
  if (name === DELETED_AGENT) return t('notice.agent');
  return name === 'deleted owner' ? t('notice.owner') : name;
}
