import { store, stored } from '../storage';

const KEY = 'arena.next';

/** Whether the next live match follows by itself when one has ended. Kept in the browser. */
class Auto {
  on = $state(stored(KEY) !== 'off');

  set(on: boolean): void {
    this.on = on;
    store(KEY, on ? 'on' : 'off');
  }
}

export const auto = new Auto();
