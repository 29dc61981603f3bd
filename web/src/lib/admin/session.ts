import { Session } from '$lib/console/session.svelte';

/** Who runs the arena; apart from the owner who may be signed in beside it. */
export const admin = new Session('admin');
