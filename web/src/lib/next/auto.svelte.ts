const KEY = 'arena.next';

/** Whether the next live match follows by itself when one has ended. Kept in the browser. */
class Auto {
  on = $state(stored() !== 'off');

  set(on: boolean): void {
    this.on = on;
    try {
      localStorage.setItem(KEY, on ? 'on' : 'off');
    } catch {
      // No storage: the choice lives as long as the page.
    }
  }
}

function stored(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

export const auto = new Auto();
