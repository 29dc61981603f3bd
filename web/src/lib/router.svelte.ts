import { first } from './api/first';
import { resolve, type Route } from './routes';

// A router for a handful of pages, on the history API.

class Router {
  route = $state.raw<Route>(resolve(location.pathname, location.search));
  /** Counts moves to another page, so that focus can follow. Another season of a league is the same page. */
  moves = $state(0);

  /** The page stands in a frame of another site: it shows one thing and goes nowhere. */
  readonly framed = location.pathname.startsWith('/embed/');

  constructor() {
    addEventListener('popstate', () => this.#read());
    document.addEventListener('click', (e) => this.#click(e));
  }

  go(to: string, { replace = false } = {}): void {
    const { page, param } = this.route;
    history[replace ? 'replaceState' : 'pushState'](null, '', to);
    this.#read();
    if (this.route.page !== page || this.route.param !== param) {
      scrollTo(0, 0);
      this.moves++;
    }
  }

  #read(): void {
    first.drop();
    this.route = resolve(location.pathname, location.search);
  }

  /** Takes over plain clicks on links of our own; every other click stays the browser's. */
  #click(e: MouseEvent): void {
    if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
    const link = e.target instanceof Element ? e.target.closest('a') : null;
    if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
    if (this.framed) {
      link.target = '_blank'; // only /embed/ may be framed: nothing else of ours shows here
      link.relList.add('noopener');
      return;
    }
    if (resolve(link.pathname).page === 'missing') return; // the API's own pages
    if (link.hash && link.pathname === location.pathname) return;
    e.preventDefault();
    this.go(link.pathname + link.search + link.hash);
  }
}

export const router = new Router();
