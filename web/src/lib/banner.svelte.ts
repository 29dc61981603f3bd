import { banner as read } from './api/arena';

const EVERY_MS = 60_000;
const KEY = 'arena.banner.closed';

/** The text that whoever runs the arena shows on every page. */
class Banner {
  text = $state('');
  #closed = $state(stored());

  /** What is to be shown: nothing once the reader has closed this very text. */
  get shown(): string {
    return this.text === this.#closed ? '' : this.text;
  }

  readonly show = (text: string): void => void (this.text = text);

  close(): void {
    this.#closed = this.text;
    try {
      sessionStorage.setItem(KEY, this.text);
    } catch {
      // No storage: it stays closed as long as the page.
    }
  }

  /** Reads it every minute, the first time now unless a page brings it along; the returned function ends it. */
  start(now: boolean): () => void {
    const load = () =>
      void read().then(
        (b) => this.show(b.text),
        () => {},
      );
    if (now) load();
    const timer = setInterval(load, EVERY_MS);
    return () => clearInterval(timer);
  }
}

function stored(): string {
  try {
    return sessionStorage.getItem(KEY) ?? '';
  } catch {
    return '';
  }
}

export const banner = new Banner();
