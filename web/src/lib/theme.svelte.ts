// Dark or light: the system's choice until the reader makes one.

import { store } from './storage';

export type Theme = 'dark' | 'light';

const KEY = 'arena.theme';

class ThemeChoice {
  current = $state<Theme>('dark');
  #system = matchMedia('(prefers-color-scheme: light)');

  constructor() {
    this.#read();
    this.#system.addEventListener('change', () => this.#read());
  }

  #read(): void {
    const chosen = document.documentElement.dataset['theme'];
    this.current = chosen === 'dark' || chosen === 'light' ? chosen : this.#system.matches ? 'light' : 'dark';
  }

  toggle(): void {
    this.current = this.current === 'dark' ? 'light' : 'dark';
    document.documentElement.dataset['theme'] = this.current;
    store(KEY, this.current);
  }
}

export const theme = new ThemeChoice();
