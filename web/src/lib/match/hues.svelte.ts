import { getContext, setContext } from 'svelte';
import { avatarOf } from '../avatar';

// The color of each agent in a match, wherever it shows: avatar, pieces, cards,
// bars. An element with the class own and the property --hue has it in --own.

/** Hues nearer than this look alike. */
const APART = 60;
const distance = (a: number, b: number): number => Math.abs(((((a - b) % 360) + 540) % 360) - 180);

/** Hues by agent, in degrees: those of the avatars, and where one looks like that of an earlier seat the nearest that does not. */
export function huesOf(order: readonly string[]): ReadonlyMap<string, number> {
  const hues = new Map<string, number>();
  const apart = Math.min(APART, 180 / Math.max(1, order.length - 1)); // so many seats always find one
  for (const id of order) {
    const { hue, figureHue } = avatarOf(id);
    const around = Array.from({ length: 181 }, (_, d) => [hue + d, hue - d]).flat();
    const taken = [...hues.values()];
    const free = [hue, figureHue, ...around].find((h) => taken.every((other) => distance(h, other) >= apart)) ?? hue;
    hues.set(id, (free + 360) % 360);
  }
  return hues;
}

const KEY = Symbol('hues');

/** Gives the agents of a match their colors below the calling component. */
export function setHues(order: () => readonly string[]): void {
  const ids = $derived(order().join(' ')); // the same text with every event: the hues are found once
  const hues = $derived(huesOf(ids.split(' ')));
  setContext(KEY, () => hues);
}

/** The hue of an agent in the match around the component; elsewhere that of its avatar. */
export function hueOf(): (id: string) => number {
  const hues = getContext<(() => ReadonlyMap<string, number>) | undefined>(KEY);
  return (id) => hues?.().get(id) ?? avatarOf(id).hue;
}
