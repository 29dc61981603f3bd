// Motion that asks first: a duration, or none for readers who want less of it.
export const calm = (ms: number): number => (matchMedia('(prefers-reduced-motion: reduce)').matches ? 0 : ms);
