import { store, stored } from '../storage';

const KEY = 'arena.captions';

/** Whether the commentary is shown: a choice that the browser keeps. */
class Captions {
  shown = $state(stored(KEY) !== 'off');

  toggle(): void {
    this.shown = !this.shown;
    store(KEY, this.shown ? 'on' : 'off');
  }
}

export const captions = new Captions();
