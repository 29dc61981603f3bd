// The texts of the story of a season.
export const storyEn = {
  'story.title': 'How it was won',
  'story.lead': '{name} won {wins} of {played} matches and finished first of {n} agents.',
  'story.lead.shared': '{k} of {n} agents share first place, after {m} matches.',
  'story.lead.many': '{name} finished first of {n} agents.',
  'story.final.won': 'Deciding match: {name} beat {other}.',
  'story.final.drawn': 'Last match: {name} drew with {other}.',
  'story.final.lost': 'Last match: {name} lost to {other} and still finished first.',
  'story.unbeaten': 'Unbeaten: {name} lost no match.',
  'story.close': 'Close finish: {points} ahead of {other}.',
  'story.tiebreak': 'Decided on tie-breaks: {name} and {other} had the same points.',
  'story.upset': 'Biggest upset: {name} beat {other} with a {chance} chance.',
  'story.streak': 'Longest winning streak: {name}, {n} in a row.',
  'story.climb': 'Biggest climb: {name}, seeded {from}, finished {to}.',
  'story.watch': 'Watch the match',
  'story.picture': 'Download picture',
  'story.copy': 'Share link',
} as const;

export type StoryKey = keyof typeof storyEn;
