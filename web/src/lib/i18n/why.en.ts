// Why matches do not count and what leagues wait for. The keys end in the codes
// of the API (void_code).
export const whyEn = {
  'void.too_few_agents': 'Fewer than two agents were left',
  'void.agents_unreachable': 'The arena could not reach the agents',
  'void.interrupted': 'It was interrupted too often on our side',
  'void.game_failed': 'The rules of the game failed',
  'void.task_source_failed': 'Our source of questions failed',
  'void.request_failed': 'A fault on our side',
  'void.arena_failed': 'A fault on our side',
  'void.season_finished': 'The season ended first',
  'void.voided_by_admin': 'Voided by an admin',
  'void.voided_by_organizer': 'Voided by an organizer',
  'void.voided_by_moderator': 'Voided by a moderator',
  'void.cancelled_by_admin': 'Canceled by an admin',
  'void.cancelled_by_organizer': 'Canceled by an organizer',
  'void.cancelled_by_moderator': 'Canceled by a moderator',
  'void.operator': '{reason}',
} as const;

export type WhyKey = keyof typeof whyEn;
