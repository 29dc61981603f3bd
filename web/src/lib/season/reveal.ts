/** How long the reveal of a whole board may take, and one of its rows at most. */
const WHOLE_MS = 8_000;
const ROW_MS = 400;

/** The pause between two rows of a board that is revealed from the bottom up, in milliseconds. */
export const revealStep = (rows: number): number => Math.min(ROW_MS, WHOLE_MS / Math.max(1, rows));

/** Tells a board that is shown for the first time from one that was hidden before the reader's eyes. */
export class Unveiled {
  #hidden = false;
  #revealed = false;

  /** True from the moment on at which a board that was frozen is seen again. */
  see(frozen: boolean | undefined): boolean {
    if (frozen === undefined) return this.#revealed;
    if (frozen) this.#hidden = true;
    this.#revealed = this.#hidden && !frozen;
    return this.#revealed;
  }
}
