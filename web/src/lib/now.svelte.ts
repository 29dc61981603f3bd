import { createSubscriber } from 'svelte/reactivity';
import { clock } from './clock';

// The present, for whatever shows time. Ticks only while something reads it.

function ticking(everyMs: number): () => number {
  const subscribe = createSubscriber((update) => {
    const timer = setInterval(update, everyMs);
    return () => clearInterval(timer);
  });
  return () => {
    subscribe();
    return clock.now();
  };
}

/** The server's clock in milliseconds, ten times a second: for countdowns. */
export const fastNow = ticking(100);
/** The server's clock in milliseconds, once a second: for "3 minutes ago". */
export const slowNow = ticking(1_000);
