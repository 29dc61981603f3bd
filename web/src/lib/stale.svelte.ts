import { createSubscriber } from 'svelte/reactivity';
import { contact } from './contact';

const subscribe = createSubscriber((update) => contact.onChange(update));

/** What the pages show of the contact with the arena. */
export const stale = {
  /** When the arena was last heard, in milliseconds, while what is shown is stale. */
  get since(): number | undefined {
    subscribe();
    return contact.since;
  },
  /** Nothing answers, for however short a time. */
  get down(): boolean {
    subscribe();
    return contact.down;
  },
};
