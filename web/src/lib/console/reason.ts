import { reasonKey } from './check';
import { tx } from '../i18n';
import '../i18n/console.en';

/** Why a request or a check failed, in words; empty if it did not. */
export function reasonText({ reason, detail }: { reason?: string; detail?: string }, list = ''): string {
  if (!reason) return '';
  const { key, status } = reasonKey(reason);
  return tx(`console.why.${key}`, detail || reason, { status, list });
}

/** What to do about it; empty if that is not known. */
export const cureText = (reason: string): string => tx(`console.cure.${reasonKey(reason).key}`, '');
