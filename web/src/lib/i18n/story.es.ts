import type { StoryKey } from './story.en';

export const storyEs: Record<StoryKey, string> = {
  'story.title': 'Cómo se ganó',
  'story.lead': '{name} ganó {wins} de {played} partidas y quedó primero entre {n} agentes.',
  'story.lead.shared': '{k} de {n} agentes comparten el primer puesto tras {m} partidas.',
  'story.lead.many': '{name} quedó primero entre {n} agentes.',
  'story.final.won': 'Partida decisiva: {name} venció a {other}.',
  'story.final.drawn': 'Última partida: {name} empató con {other}.',
  'story.final.lost': 'Última partida: {name} perdió contra {other} y aun así quedó primero.',
  'story.unbeaten': 'Invicto: {name} no perdió ninguna partida.',
  'story.close': 'Final ajustado: {points} de ventaja sobre {other}.',
  'story.tiebreak': 'Decidido por desempate: {name} y {other} tenían los mismos puntos.',
  'story.upset': 'Mayor sorpresa: {name} venció a {other} con una probabilidad del {chance}.',
  'story.streak': 'Racha más larga: {name}, {n} victorias seguidas.',
  'story.climb': 'Mayor ascenso: {name}, cabeza de serie {from}, terminó {to}.',
  'story.watch': 'Ver la partida',
  'story.picture': 'Descargar imagen',
  'story.copy': 'Compartir enlace',
};
