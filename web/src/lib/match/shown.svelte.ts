import { isOver, lastRound, type MatchState, type Round } from './state';

/** How long a closed round stays on the stage before the next one takes it. */
export const DWELL_MS = 2_000;

/** Which round is on the stage: the newest one, held back a moment so that a reveal can be seen. */
export class ShownRound {
  #auto = $state(0);
  #closedAt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #match: () => MatchState | undefined;
  readonly #held: () => boolean;
  readonly round: Round | undefined = $derived.by(() => this.#match()?.rounds.find((r) => r.no === this.#auto));
  /** True when the stage shows the end of the match. */
  readonly final = $derived.by(() => {
    const m = this.#match();
    return !!m && isOver(m) && this.#auto === (lastRound(m)?.no ?? 0);
  });

  /** held: whether the next round waits. A replay has pauses of its own. */
  constructor(match: () => MatchState | undefined, held: () => boolean = () => true) {
    this.#match = match;
    this.#held = held;
    $effect(() => this.#follow(match()));
    $effect(() => () => clearTimeout(this.#timer));
  }

  #follow(m: MatchState | undefined): void {
    const newest = m && lastRound(m);
    if (!m || !newest) return;
    const shown = m.rounds.find((r) => r.no === this.#auto);
    if (shown?.closedAt && !this.#closedAt) this.#closedAt = Date.now();
    if (newest.no === this.#auto) return;
    // Only the round that follows waits: whoever leaps is there at once.
    // In a game only the end of one does: the position after a move is that of the next turn.
    const stays = !shown?.turn || shown.turn.closed?.place.over;
    const wait =
      shown && stays && this.#closedAt && this.#held() && newest.no === this.#auto + 1 ? this.#closedAt + DWELL_MS - Date.now() : 0;
    clearTimeout(this.#timer);
    if (wait > 0) this.#timer = setTimeout(() => this.#go(), wait);
    else this.#go();
  }

  #go(): void {
    const m = this.#match();
    this.#closedAt = 0;
    this.#auto = (m && lastRound(m)?.no) ?? 0;
  }
}
