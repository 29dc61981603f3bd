import { Session } from '$lib/console/session.svelte';

/** The admin, organizer or moderator who is signed in; apart from the owner who may be signed in beside it. */
export const admin = new Session('admin', 'organizer', 'moderator');

/** Whether everything may be done, or only what concerns some leagues. */
export const runsAll = (): boolean => admin.me?.scope === 'admin';
export const runs = (league: string): boolean => runsAll() || !!admin.me?.leagues?.includes(league);
