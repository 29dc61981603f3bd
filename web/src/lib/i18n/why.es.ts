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
};
