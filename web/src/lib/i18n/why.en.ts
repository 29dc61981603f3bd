// Why matches do not count and what leagues wait for. The keys end in the codes
// of the API (void_code, note_code).
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

  'note.needs_agents': 'it needs {least} idle agents and has {has}',
  'note.budgets_stop': 'it needs {least} idle agents and has {has}; their owners’ budgets stop {stopped} more',
  'note.just_met': 'the {idle} free agents have just played each other and need new opponents',
  'note.waits_for_opponent':
    'the {idle} free agents have just played each other or can meet only unrated; they wait up to {seconds} s for new opponents',
  'note.only_unrated': 'the {idle} free agents can meet only unrated: they have the same owner, or have met {meetings} times in 24 hours',
  'note.waits_for_agent': 'round {round} waits for {agent}',
  'note.waits_for_budget': 'round {round} waits for {agent}, which its owner’s budget stops',
  'note.gathers': '{ready} agents are ready, {playing} still play elsewhere',
  'note.game_failed': 'the rules of its game failed in match {match_id}: {fault}',
} as const;

export type WhyKey = keyof typeof whyEn;
