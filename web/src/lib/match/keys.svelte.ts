// The keys of a replay.

import { store, stored } from '../storage';

export type Act =
  'toggle' | 'event.back' | 'event.next' | 'round.back' | 'round.next' | 'first' | 'last' | 'moment' | 'sound' | 'legend' | 'leave';

/** For the legend, in its order. */
export const KEYS: readonly { keys: readonly string[]; act: Act }[] = [
  { keys: [' '], act: 'toggle' },
  { keys: ['←'], act: 'event.back' },
  { keys: ['→'], act: 'event.next' },
  { keys: ['k', '⇧ ←'], act: 'round.back' },
  { keys: ['j', '⇧ →'], act: 'round.next' },
  { keys: ['Home'], act: 'first' },
  { keys: ['End'], act: 'last' },
  { keys: ['n'], act: 'moment' },
  { keys: ['s'], act: 'sound' },
  { keys: ['?'], act: 'legend' },
  { keys: ['Esc'], act: 'leave' },
];

const KEY = 'arena.shortcuts';

/** Whether keys do anything: someone who speaks to the computer may press them without knowing. */
export class Shortcuts {
  on = $state(stored(KEY) !== 'off');

  set(on: boolean): void {
    this.on = on;
    store(KEY, on ? 'on' : 'off');
  }
}

export const shortcuts = new Shortcuts();

/** What a key press asks for; nothing where the focused element needs the key itself. */
export function actOf(e: KeyboardEvent): Act | undefined {
  if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey) return undefined;
  const at = e.target instanceof Element ? e.target : null;
  const slider = at?.matches('input[type="range"]');
  // The slider's own arrows would move it by a thousandth of a round.
  if (slider && ['ArrowLeft', 'ArrowDown'].includes(e.key)) return e.shiftKey ? 'round.back' : 'event.back';
  if (slider && ['ArrowRight', 'ArrowUp'].includes(e.key)) return e.shiftKey ? 'round.next' : 'event.next';
  if (slider && e.key === 'PageDown') return 'round.back';
  if (slider && e.key === 'PageUp') return 'round.next';
  if (slider && e.key === 'Home') return 'first';
  if (slider && e.key === 'End') return 'last';
  if (!slider && at?.matches('input, textarea, select, [contenteditable]')) return undefined;
  if (e.key === 'Escape') return 'leave';
  if (!shortcuts.on) return undefined;
  switch (e.key) {
    case ' ':
      return at?.matches('button, a, summary') ? undefined : 'toggle';
    case 'ArrowLeft':
      return e.shiftKey ? 'round.back' : 'event.back';
    case 'ArrowRight':
      return e.shiftKey ? 'round.next' : 'event.next';
    case 'j':
      return 'round.next';
    case 'k':
      return 'round.back';
    case 'Home':
      return 'first';
    case 'End':
      return 'last';
    case 'n':
      return 'moment';
    case 's':
      return 'sound';
    case '?':
      return 'legend';
    default:
      return undefined;
  }
}
