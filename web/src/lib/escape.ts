import { on } from 'svelte/events';

/** Attaches Escape to an element: pressed within it, it cancels what stands there, and nothing else on the page. */
export const escape = (cancel: () => void) => (node: HTMLElement) =>
  on(node, 'keydown', (e) => {
    if (e.key !== 'Escape') return;
    e.stopPropagation();
    cancel();
  });
