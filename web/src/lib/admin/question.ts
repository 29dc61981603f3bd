import type { components } from '../api/schema';

type PackTask = components['schemas']['PackTask'];
type Edit = components['schemas']['EditTaskInputBody'];

/** A question as its form has it: lists have one item a line. */
export interface QuestionText {
  description: string;
  options: string;
  answer: string;
  topic: string;
  difficulty: string;
}

export const linesOf = (q: PackTask): QuestionText => ({
  description: q.description,
  options: (q.options ?? []).join('\n'),
  answer: q.answer.join('\n'),
  topic: q.topic ?? '',
  difficulty: q.difficulty ?? '',
});

const items = (lines: string) =>
  lines
    .split('\n')
    .map((l) => l.trim())
    .filter(Boolean);

/** What a form has changed. A field that was not touched is not sent: an option may hold a line break. */
export function changesOf(q: PackTask, text: QuestionText): Edit {
  const before = linesOf(q);
  const edit: Edit = {};
  for (const key of ['description', 'topic', 'difficulty'] as const) if (text[key] !== before[key]) edit[key] = text[key];
  for (const key of ['options', 'answer'] as const) if (text[key] !== before[key]) edit[key] = items(text[key]);
  return edit;
}

/** What a correction changes in all leagues: ids of matches, and how many ratings, by how much at most. */
export function correctionOf({ leagues }: components['schemas']['TaskCorrection']) {
  const reports = leagues.map((l) => l.report);
  const moves = reports.flatMap((r) => r.ratings).map((r) => Math.abs(r.rating - r.rating_before));
  return {
    matches: reports.reduce((sum, r) => sum + r.matches, 0),
    changed: reports.flatMap((r) => r.changed).map((m) => m.match_id),
    failed: reports.reduce((sum, r) => sum + r.failed.length, 0),
    ratings: moves.length,
    most: Math.round(Math.max(0, ...moves)),
  };
}
