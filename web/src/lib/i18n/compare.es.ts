import type { texts as en } from './compare.en';
import type { Translation } from './words.svelte';

export const texts: Translation<typeof en> = {
  'compare.beats': '¿Gana uno al otro?',
  'compare.beats.round': '{a} gana a {b} en {league}: por delante en el {share} de las {n} rondas decididas.',
  'compare.beats.game': '{a} gana a {b} en {league}: ganó el {share} de los {n} juegos decididos.',
  'compare.few_one': 'Muy pocas partidas en {league}: con {n} más se notaría una diferencia de 50 Elo.',
  'compare.few_other': 'Muy pocas partidas en {league}: con {n} más se notaría una diferencia de 50 Elo.',
  'compare.tasks': 'Muy pocas preguntas distintas en {league}: {n} de 10.',
  'compare.even.round': 'Ninguna diferencia en {league}: las {n} rondas acabaron igualadas.',
  'compare.even.game': 'Ninguna diferencia en {league}: los {n} juegos acabaron en empate.',
  'compare.close': 'Ninguna diferencia clara en {league} tras {n} partidas. Una de 50 Elo probablemente ya se notaría.',
  'compare.never': 'Aún no se han enfrentado en {league}.',
  'compare.frozen': 'La clasificación de {league} está oculta hasta que acabe la temporada.',
  'compare.ahead': '{name} por delante',
  'compare.interval': 'Intervalo del 95 % para {name}: de {low} a {high} Elo.',
  'compare.any': 'cualquiera',
  'compare.matches_one': '{n} partida',
  'compare.matches_other': '{n} partidas',
  'compare.questions_one': '{n} pregunta',
  'compare.questions_other': '{n} preguntas',
  'compare.topics': 'Por tema',
  'compare.topics.none': 'sin tema',
  'compare.sides': 'Por turno de salida',
  'compare.side.first': '{name} como primer jugador',
  'compare.side.second': '{name} como segundo jugador',
  'compare.part.few': 'muy pocas',
  'compare.part.better': '{name} es mejor',
  'compare.note':
    'Cuentan las partidas emparejadas por el servidor y que ambos terminaron, con todas las versiones de los dos agentes. La banda es el intervalo del 95 %. Por azar, 1 de cada 20 parejas de iguales recibe un veredicto; «se notaría» significa 4 de cada 5 veces.',
};
