import { isFollowed, parseFollows, toggled, type Follow } from './follow';

const KEY = 'arena.following';
const ASKED = 'arena.following.asked';

/** What the last click on a follow button came to. */
export interface Note {
  readonly key: 'next.follow.on' | 'next.follow.full';
  readonly name: string;
}

/** The agents and leagues that the reader follows, kept in the browser. */
class Follows {
  list = $state.raw<readonly Follow[]>(parseFollows(read(KEY)));
  note = $state.raw<Note>();

  constructor() {
    addEventListener('storage', (e) => {
      if (e.key === KEY || e.key === null) this.list = parseFollows(read(KEY)); // another tab
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
    write(KEY, JSON.stringify(next));
    this.note = more ? { key: 'next.follow.on', name: f.name } : undefined;
    if (more) ask();
  }
}

function ask(): void {
  if (!('Notification' in globalThis) || Notification.permission !== 'default' || read(ASKED)) return;
  write(ASKED, '1');
  void Promise.resolve(Notification.requestPermission()).catch(() => undefined);
}

function read(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function write(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // No storage, or a full one: it lasts as long as the page.
  }
}

export const follows = new Follows();
