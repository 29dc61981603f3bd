import { Session } from '$lib/console/session.svelte';

/** Who runs the arena, or leagues of it; apart from the owner who may be signed in beside it. */
export const admin = new Session('admin', 'organizer');

/** Whether everything may be done, or only what concerns some leagues. */
export const runsAll = (): boolean => admin.me?.scope === 'admin';
export const runs = (league: string): boolean => runsAll() || !!admin.me?.leagues?.includes(league);
