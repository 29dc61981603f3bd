import type { Match } from '../api/contract';
import { clock } from '../clock';
import { router } from '../router.svelte';
import { Announcer } from './announcer';
import { follows } from './follows.svelte';
import { nameOf } from './name';
import { t } from '../i18n';
import '../i18n/next.en';

/** The most toasts on the page at once. */
const TOASTS_MAX = 3;

/** Announces matches of followed agents and leagues when they start. */
class Announcements {
  /** The matches announced on the page, where no notification can be shown. */
  toasts = $state.raw<readonly Match[]>([]);
  readonly #announcer = new Announcer();

  /** Announces what is new among the live matches. */
  see(live: readonly Match[]): void {
    for (const m of this.#announcer.started(live, follows.list, clock.now())) {
      if (router.route.page === 'match' && router.route.param === m.match_id) continue;
      if (!notify(m)) this.toasts = [...this.toasts.filter((n) => n.match_id !== m.match_id), m].slice(-TOASTS_MAX);
    }
  }

  close(matchId: string): void {
    this.toasts = this.toasts.filter((n) => n.match_id !== matchId);
  }
}

/** Shows a notification and reports whether it could. Each match has one, however many pages are open. */
function notify(m: Match): boolean {
  if (!('Notification' in globalThis) || Notification.permission !== 'granted') return false;
  try {
    const note = new Notification(t('next.follow.started', { name: nameOf(m) }), { tag: m.match_id, body: m.league });
    note.onclick = () => {
      focus();
      router.go(`/m/${m.match_id}`);
      note.close();
    };
    return true;
  } catch {
    return false; // some phones allow notifications to service workers alone
  }
}

export const announcements = new Announcements();
