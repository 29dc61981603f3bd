import { isFollowed, parseFollows, toggled, type Follow } from './follow';
import { store, stored } from '../storage';

const KEY = 'arena.following';
const ASKED = 'arena.following.asked';

/** What the last click on a follow button came to. */
export interface Note {
  readonly key: 'next.follow.on' | 'next.follow.full';
  readonly name: string;
}

/** The agents and leagues that the reader follows, kept in the browser. */
class Follows {
  list = $state.raw<readonly Follow[]>(parseFollows(stored(KEY)));
  note = $state.raw<Note>();

  constructor() {
    addEventListener('storage', (e) => {
      if (e.key === KEY || e.key === null) this.list = parseFollows(stored(KEY)); // another tab
    });
  }

  has(kind: Follow['kind'], id: string): boolean {
    return isFollowed(this.list, kind, id);
  }

  /** Follows, or stops following. The first time it asks to show notifications; following works without them. */
  toggle(f: Follow): void {
    const next = toggled(this.list, f);
    if (!next) return void (this.note = { key: 'next.follow.full', name: f.name });
    const more = next.length > this.list.length;
    this.list = next;
    store(KEY, JSON.stringify(next));
    this.note = more ? { key: 'next.follow.on', name: f.name } : undefined;
    if (more) ask();
  }
}

function ask(): void {
  if (!('Notification' in globalThis) || Notification.permission !== 'default' || stored(ASKED)) return;
  store(ASKED, '1');
  void Promise.resolve(Notification.requestPermission()).catch(() => undefined);
}

export const follows = new Follows();
