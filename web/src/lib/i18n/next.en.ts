import { words } from './words.svelte';

// The texts about what to watch next, TV mode and following.
export const texts = {
  'next.subscribe': 'Subscribe:',
  'next.subscribe.calendar': 'Calendar',
  'next.subscribe.feed': 'Results',
  'next.title': 'Watch next',
  'next.in': 'Next in {s} s:',
  'next.stay': 'Stay here',
  'next.stay.key': 'Esc',
  'next.go': 'Watch now',
  'next.announce': 'Next match in {s} seconds: {name}. Press Escape to stay.',
  'next.stayed': 'Staying on this match.',
  'next.auto': 'Continue with the next live match automatically',
  'next.none': 'No other match is live.',
  'next.name': '{a} vs {b}',
  'next.many': '{league}, {n} agents',

  'next.meetings.title': 'Last meetings',
  'next.meetings.score': '{name}: {w} won, {d} drawn, {l} lost',
  'next.meetings.none': 'No other finished match between these two.',

  'next.tv.title': 'TV',
  'next.tv.full': 'Full screen',
  'next.tv.window': 'Leave full screen',
  'next.tv.leave': 'Leave TV mode',
  'next.tv.quiet': 'No live matches right now',
  'next.tv.match': 'Next match: {name}',
  'next.tv.league': 'Next pairing: {name}',
  'next.tv.soon': 'any moment',
  'next.tv.nothing': 'Nothing is scheduled. A match appears here as soon as it starts.',
  'next.tv.final': 'Final',

  'next.follow.do': 'Follow',
  'next.follow.undo': 'Following',
  'next.follow.agent': 'Follow {name} in this browser',
  'next.follow.undo.name': 'Stop following {name}',
  'next.follow.on': 'You are notified when a match of {name} starts, while a page of the arena is open.',
  'next.follow.full': 'You follow {n} agents and leagues, the limit. Stop following one first.',
  'next.follow.title': 'Following',
  'next.follow.live': 'Live now',
  'next.follow.idle': 'Not playing',
  'next.follow.starts': 'Starts in {time}',
  'next.follow.started': '{name} has started',
  'next.follow.watch': 'Watch',
  'next.follow.close': 'Close',
} as const;

words.add(texts, () => import('./next.es'));
