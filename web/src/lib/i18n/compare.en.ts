import { words } from './words.svelte';

// The texts of whether one agent beats another.
export const texts = {
  'compare.beats': 'Does one beat the other?',
  'compare.beats.round': '{a} beats {b} in {league}: ahead in {share} of the {n} decided rounds.',
  'compare.beats.game': '{a} beats {b} in {league}: won {share} of the {n} decided games.',
  'compare.few_one': 'Too few matches in {league}: {n} more would tell a difference of 50 Elo.',
  'compare.few_other': 'Too few matches in {league}: {n} more would tell a difference of 50 Elo.',
  'compare.tasks': 'Too few different questions in {league}: {n} of 10.',
  'compare.even.round': 'No difference in {league}: every one of {n} rounds ended even.',
  'compare.even.game': 'No difference in {league}: every one of {n} games was drawn.',
  'compare.close': 'No clear difference in {league} after {n} matches. One of 50 Elo would probably show by now.',
  'compare.never': 'No matches against each other in {league} yet.',
  'compare.frozen': 'The table of {league} is hidden until the season ends.',
  'compare.ahead': '{name} ahead',
  'compare.interval': '95% interval for {name}: {low} to {high} Elo.',
  'compare.any': 'any',
  'compare.matches_one': '{n} match',
  'compare.matches_other': '{n} matches',
  'compare.questions_one': '{n} question',
  'compare.questions_other': '{n} questions',
  'compare.topics': 'By topic',
  'compare.topics.none': 'no topic',
  'compare.sides': 'By side',
  'compare.side.first': '{name} as first player',
  'compare.side.second': '{name} as second player',
  'compare.part.few': 'too few',
  'compare.part.better': '{name} is better',
  'compare.note':
    'Counted are matches that the arena paired and both finished, with all versions of both agents. The band is the 95% interval. By chance, 1 in 20 pairs of equal agents gets a verdict; “would tell” means 4 times in 5.',
} as const;

words.add(texts, () => import('./compare.es'));
