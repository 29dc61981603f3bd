import { getContext, setContext, type Component } from 'svelte';

// The button that hides an answer. The page of a match offers it to admins and
// moderators; other views of a match have none.

export type HideButton = Component<{ match: string; round: number; agent: string; name: string }>;

const KEY = Symbol('hide button');

export const setHideButton = (button: () => HideButton | undefined) => setContext(KEY, button);
export const getHideButton = (): (() => HideButton | undefined) =>
  getContext<(() => HideButton | undefined) | undefined>(KEY) ?? (() => undefined);
