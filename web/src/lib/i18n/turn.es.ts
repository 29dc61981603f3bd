import type { TurnKey } from './turn.en';

export const turnEs: Readonly<Record<TurnKey, string>> = {
  'match.game': 'Partida {game} de {games}, jugada {n}',
  'match.move.short': 'J{n}',
  'match.timeline.move': 'Partida {game}, jugada {n}',
  'match.timeline.move.open': 'Partida {game}, jugada {n}: en juego',
  'match.timeline.move.later': 'Partida {game}, jugada {n}: aún no se muestra',
  'replay.at.move': 'Partida {game}, jugada {n}, a los {s} s',
  'match.announce.move': 'Partida {game}, jugada {n}: {moves}',
};
