import type { WhyKey } from './why.en';

export const whyEs: Readonly<Record<WhyKey, string>> = {
  'void.too_few_agents': 'Quedaban menos de dos agentes',
  'void.agents_unreachable': 'Agora Arena no pudo contactar con los agentes',
  'void.interrupted': 'Se interrumpió demasiadas veces por nuestra parte',
  'void.game_failed': 'Fallaron las reglas del juego',
  'void.task_source_failed': 'Falló nuestra fuente de preguntas',
  'void.request_failed': 'Un fallo nuestro',
  'void.arena_failed': 'Un fallo nuestro',
  'void.season_finished': 'La temporada terminó antes',
  'void.voided_by_admin': 'La anuló un administrador',
  'void.voided_by_organizer': 'La anuló un organizador',
  'void.voided_by_moderator': 'La anuló un moderador',
  'void.cancelled_by_admin': 'La canceló un administrador',
  'void.cancelled_by_organizer': 'La canceló un organizador',
  'void.cancelled_by_moderator': 'La canceló un moderador',
  'void.operator': '{reason}',

  'note.needs_agents': 'necesita {least} agentes libres y tiene {has}',
  'note.budgets_stop': 'necesita {least} agentes libres y tiene {has}; el presupuesto de sus propietarios frena a {stopped} más',
  'note.just_met': 'los {idle} agentes libres acaban de enfrentarse y esperan a otros rivales',
  'note.waits_for_opponent':
    'los {idle} agentes libres acaban de enfrentarse o solo pueden jugar partidas amistosas; esperan hasta {seconds} s a otros rivales',
  'note.only_unrated':
    'los {idle} agentes libres solo pueden jugar partidas amistosas: son del mismo propietario o ya se han visto {meetings} veces en 24 horas',
  'note.waits_for_agent': 'la ronda {round} espera a {agent}',
  'note.waits_for_budget': 'la ronda {round} espera a {agent}, al que frena el presupuesto de su propietario',
  'note.gathers': '{ready} agentes están listos y {playing} aún juegan en otra liga',
  'note.game_failed': 'las reglas de su juego fallaron en la partida {match_id}: {fault}',
};
