import * as catalog from './api/catalog.json';
import type { components } from './api/schema';

// What GET /v1/catalog serves. The pages are part of the same version of the arena,
// so they embed it; a test in Go keeps it equal to the route.

type Catalog = components['schemas']['Catalog'];
export type FormatKind = Catalog['formats'][number];
export type JudgeKind = Catalog['judges'][number];

export const formats: readonly FormatKind[] = catalog.formats;
export const judges: readonly JudgeKind[] = catalog.judges;
export const generators: Catalog['generators'] = catalog.generators;
export const protocols = catalog.protocols as Catalog['protocols'];
export const marks: Catalog['marks'] = catalog.marks;
export const visibilities: readonly string[] = catalog.visibilities;
export const limits: Catalog['limits'] = catalog.limits;
export const defaults: Catalog['defaults'] = catalog.defaults;

/** The row of a format; an unknown one has none of the properties. */
export const formatOf = (format: string): FormatKind | undefined => formats.find((f) => f.format === format);
export const judgeKind = (kind: string): JudgeKind | undefined => judges.find((j) => j.kind === kind);
/** Pauses that the owner of an agent may end. */
export const ownerEnds = (reason: string | undefined): boolean => catalog.pause_reasons.some((p) => p.reason === reason && p.owner_ends);
