import { getContext, setContext } from 'svelte';
import * as api from '../api/arena';
import { guessed, judged, keyOf, letterOf, read, type Guesses } from './guesses';
import type { Round } from './state';

// Guesses of the reader on the sealed questions of a match that is watched as it
// happens. The page of a match offers them; other views of a match have none.

export class Guessing {
  // The browser's clock: the arena's is unknown before its first answer.
  score = $state.raw<Guesses>(read(Date.now()));
  /** How many spectators gave each answer to a round that has closed. */
  crowd = $state.raw<{ readonly key: string; readonly answers: Readonly<Record<string, number>> }>();
  readonly #match: string;
  readonly #watched: () => boolean;

  readonly #sealed: () => boolean;

  /** sealed: its questions may be asked; watched: and nothing has given the answers away. */
  constructor(match: string, sealed: () => boolean, watched: () => boolean) {
    this.#match = match;
    this.#sealed = sealed;
    this.#watched = watched;
  }

  /** Whether a round has a place for a guess, which stays while the reader looks back. */
  fits(round: Round | undefined): round is Round {
    return !!round?.task.options?.length && !round.turn && this.#sealed();
  }

  offers(round: Round | undefined): round is Round {
    return this.fits(round) && this.#watched();
  }

  letter(round: Round): string | undefined {
    return this.score.made[keyOf(this.#match, round.no)]?.letter;
  }

  /** Shares of the spectators by letter, once they are known. */
  shares(round: Round): Readonly<Record<string, number>> | undefined {
    return this.crowd?.key === keyOf(this.#match, round.no) ? this.crowd.answers : undefined;
  }

  tap(round: Round, i: number): void {
    if (round.closedAt || this.letter(round)) return;
    this.score = guessed(this.score, keyOf(this.#match, round.no), letterOf(i), Date.now());
    void api.guess(this.#match, round.no, letterOf(i)).catch(() => undefined); // it counts here without the others
  }

  /** Judges the guess on a round that has closed, and reads what the crowd guessed. */
  see(round: Round | undefined): void {
    if (!round?.closedAt || !round.revealed || !this.letter(round)) return;
    const key = keyOf(this.#match, round.no);
    this.score = judged(this.score, key, round);
    if (this.crowd?.key === key) return;
    this.crowd = { key, answers: {} };
    api.guesses(this.#match).then(
      (list) => (this.crowd = { key, answers: list.items.find((r) => r.round === round.no)?.answers ?? {} }),
      () => undefined,
    );
  }
}

const KEY = Symbol('guessing');

export const setGuessing = (guessing: Guessing): Guessing => setContext(KEY, guessing);
export const getGuessing = (): Guessing | undefined => getContext<Guessing | undefined>(KEY);
