import { reasonKey } from './check';
import { tcx } from './words';

/** Why a request or a check failed, in words; empty if it did not. */
export function reasonText({ reason, detail }: { reason?: string; detail?: string }, list = ''): string {
  if (!reason) return '';
  const { key, status } = reasonKey(reason);
  return tcx(`why.${key}`, detail || reason, { status, list });
}

/** What to do about it; empty if that is not known. */
export const cureText = (reason: string): string => tcx(`cure.${reasonKey(reason).key}`, '');
