const KEY = 'arena.captions';

/** Whether the commentary is shown: a choice that the browser keeps. */
class Captions {
  shown = $state(stored());

  toggle(): void {
    this.shown = !this.shown;
    try {
      localStorage.setItem(KEY, this.shown ? 'on' : 'off');
    } catch {
      // No storage: the choice lives as long as the page.
    }
  }
}

function stored(): boolean {
  try {
    return localStorage.getItem(KEY) !== 'off';
  } catch {
    return true;
  }
}

export const captions = new Captions();
