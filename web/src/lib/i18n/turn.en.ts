// What the first view says of a turn of a game. The rest is in game.en.ts.
export const turnEn = {
  'match.game': 'Game {game} of {games}, move {n}',
  'match.move.short': 'M{n}',
  'match.timeline.move': 'Game {game}, move {n}',
  'match.timeline.move.open': 'Game {game}, move {n}: in progress',
  'match.timeline.move.later': 'Game {game}, move {n}: not shown yet',
  'replay.at.move': 'Game {game}, move {n}, after {s} s',
  'match.announce.move': 'Game {game}, move {n}: {moves}',
} as const;

export type TurnKey = keyof typeof turnEn;
