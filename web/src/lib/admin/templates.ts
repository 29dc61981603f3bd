import { readerZone } from '../find/cron';
import { t } from '../i18n';
import '../i18n/admin.en';
import { changed, emptyDraft, slugOf, withGame, type Draft } from './draft';
import type { FieldName } from './fields';
import { writeWeekly } from './schedule';

// What a new league starts from: settings that work as they are, and the few fields
// that people change first.

interface Template {
  make: (d: Draft) => Draft;
  fields: readonly FieldName[];
}

/** A schedule in the zone of the reader, at eight in the evening. Days count from Sunday, 0. */
const evenings = (day: number): string => writeWeekly({ days: [day], time: '20:00', zone: readerZone() });

export const TEMPLATES = {
  quiz: {
    make: (d) => ({
      ...changed(d, { format: 'elimination', generator: 'word_problems' }),
      minSeats: 3,
      maxRounds: 20,
      harderEvery: 4, // the last rounds decide
      timeLimit: 30,
      faster: 2,
      breakSeconds: 5,
      schedule: evenings(5),
    }),
    fields: ['max_rounds', 'time_limit_seconds', 'faster_seconds', 'break_seconds', 'harder_every', 'min_seats', 'max_seats', 'schedule'],
  },
  debate: {
    make: (d) => ({
      // The audience judges: a panel or a model would have to be there first.
      ...changed(d, { plays: 'debate', format: 'swiss', judge: 'crowd' }),
      criteria: t('admin.template.debate.criteria'),
      swissRounds: 3,
      timeLimit: 60,
      breakSeconds: 5,
      window: 60,
      rated: false,
      schedule: evenings(4),
    }),
    fields: ['pack_id', 'swiss_rounds', 'turns', 'time_limit_seconds', 'break_seconds', 'window_seconds', 'min_votes', 'schedule'],
  },
  ladder: {
    make: (d) => ({
      ...withGame(changed(d, { plays: 'game' }), { name: 'connect_four', deals: false, hidden: false, max_seats: 2 }),
      builtIn: 'random greedy search', // the first agent has opponents
    }),
    fields: [
      'game',
      'games_per_match',
      'time_limit_seconds',
      'time_bank_seconds',
      'break_seconds',
      'matches_per_day',
      'pace_pause',
      'built_in',
    ],
  },
  class: {
    make: (d) => ({ ...changed(d, { format: 'swiss' }), swissRounds: 5, agentsPerOwner: 1 }),
    fields: ['swiss_rounds', 'rounds', 'time_limit_seconds', 'break_seconds', 'difficulty', 'agents_per_owner'],
  },
} as const satisfies Record<string, Template>;

export type TemplateName = keyof typeof TEMPLATES;
export const TEMPLATE_NAMES = Object.keys(TEMPLATES) as TemplateName[];
export const isTemplate = (name: string): name is TemplateName => Object.hasOwn(TEMPLATES, name);

/** The draft of a template, under the template's own title. */
export function templateDraft(name: TemplateName): Draft {
  const title = t(`admin.template.${name}`);
  return { ...TEMPLATES[name].make(emptyDraft()), title, slug: slugOf(title) };
}
