import type { Match } from '../api/contract';
import { concerns, type Follow } from './follow';

/** A league is announced at most this often: a ladder starts matches all the time. */
export const LEAGUE_QUIET_MS = 60_000;
/** A match that began longer ago is not announced, such as one that a long list had left out. */
const ANNOUNCE_MS = 120_000;
const KNOWN_MAX = 5_000;

/** Announcer finds the matches to announce among the live ones, each once. What is live at the first call is not announced. */
export class Announcer {
  #known: Set<string> | undefined;
  readonly #quiet = new Map<string, number>();

  started(live: readonly Match[], follows: readonly Follow[], now: number): Match[] {
    const running = live.filter((m) => m.status === 'running');
    const before = this.#known;
    this.#known = new Set(
      before && before.size < KNOWN_MAX ? [...before, ...running.map((m) => m.match_id)] : running.map((m) => m.match_id),
    );
    if (!before) return [];
    return running.filter((m) => {
      if (before.has(m.match_id) || now - Date.parse(m.started_at ?? '') > ANNOUNCE_MS) return false;
      const about = follows.filter((f) => concerns(f, m));
      if (about.some((f) => f.kind === 'agent')) return true;
      const league = about[0];
      if (!league || now - (this.#quiet.get(league.id) ?? -Infinity) < LEAGUE_QUIET_MS) return false;
      this.#quiet.set(league.id, now);
      return true;
    });
  }
}
