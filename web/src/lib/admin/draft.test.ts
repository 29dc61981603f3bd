import { describe, expect, it } from 'vitest';
import {
  bodyOf,
  changed,
  draftOf,
  emptyDraft,
  judgesOf,
  movesOf,
  patchOf,
  previewOf,
  slugOf,
  visibilitiesOf,
  withGame,
  type Draft,
} from './draft';

const draft = (over: Partial<Draft> = {}): Draft => ({ ...emptyDraft(), ...over });
/** A draft after choices, one after the other. */
const chosen = (...changes: Partial<Draft>[]): Draft => changes.reduce(changed, draft());

const DICE = { name: 'liars_dice', max_seats: 6, deals: true, hidden: true };

describe('a slug', () => {
  it.each([
    ['Night Cup', 'night-cup'],
    ['  ¡Copa de Otoño!  ', 'copa-de-otono'],
    ['A & B -- C', 'a-b-c'],
    ['日本', ''],
    ['x'.repeat(60), 'x'.repeat(40)],
    [`${'y'.repeat(39)} z`, 'y'.repeat(39)],
  ])('of %s is %s', (title, want) => expect(slugOf(title)).toBe(want));
});

describe('a draft', () => {
  it('sends only what was said', () =>
    expect(bodyOf(draft({ title: 'Cup', slug: 'cup' }))).toEqual({
      title: 'Cup',
      slug: 'cup',
      format: 'ladder',
      generator: { name: 'arithmetic', difficulty: 2 },
      judge: { kind: 'number' },
      rounds: 5,
      time_limit_seconds: 20,
      break_seconds: 3,
      rated: true,
      visibility: 'sealed',
    }));
  it('sends seats where a match may have many, a pack in place of a generator, rules by line', () =>
    expect(
      bodyOf(
        draft({
          format: 'elimination',
          openEnd: true,
          source: 'pack',
          packId: 'pk_1',
          judge: 'crowd',
          criteria: 'wit',
          rules: 'one\n\n two ',
          schedule: '* * * * *',
          password: 'sesame',
          agentsPerOwner: 2,
          visibility: 'live',
          rated: false,
        }),
      ),
    ).toMatchObject({
      pack_id: 'pk_1',
      rounds: null,
      max_rounds: 50,
      min_seats: 8,
      max_seats: 128,
      rules: ['one', 'two'],
      schedule: '* * * * *',
      visibility: 'live',
      judge: { kind: 'crowd', criteria: 'wit', window_seconds: 30, min_votes: 1 },
      entry: { password: 'sesame', agents_per_owner: 2 },
    }));
  it('sends the policy on long answers only where they get no points', () => {
    expect(bodyOf(draft({ zeroOverTokens: true }))).toMatchObject({ max_tokens_policy: 'zero_points' });
    expect(previewOf(draft()).max_tokens_policy).toBe('note');
  });
  it('never shows the password in its preview', () => {
    const shown = previewOf(draft({ password: 'sesame' }));
    expect(shown.entry).toEqual({ password_required: true });
    expect(JSON.stringify(shown)).not.toContain('sesame');
  });
  it.each([
    ['round_robin', { double: true }, { double: true, forfeit_seconds: 120 }],
    ['swiss', { swissRounds: 5 }, { rounds: 5, forfeit_seconds: 120 }],
    ['swiss', {}, { forfeit_seconds: 120 }],
    ['knockout', { bestOf: '3' }, { best_of: 3, forfeit_seconds: 120 }],
    ['double_elimination', { bestOf: '7', forfeit: 60 }, { best_of: 7, forfeit_seconds: 60 }],
    ['arena', {}, { duration_seconds: 1800, forfeit_seconds: 120 }],
    ['gauntlet', { champion: ['ag_1'] }, { champion: 'ag_1', forfeit_seconds: 120 }],
    ['ladder', { minutes: 60 }, { duration_seconds: 3600 }],
    ['elimination', {}, undefined],
    ['elimination', { faster: 1.5 }, { faster_seconds: 1.5 }],
  ])('of format %s has the options of that format and no other', (format, change, want) => {
    const other = { double: true, swissRounds: 5, bestOf: '5', champion: ['ag_9'] };
    const d = chosen(
      { format },
      {
        ...other,
        ...Object.fromEntries(
          Object.keys(other)
            .filter((k) => !(k in change))
            .map((k) => [k, emptyDraft()[k as keyof Draft]]),
        ),
        ...change,
      },
    );
    expect(bodyOf(d).format_options).toEqual(want);
    expect(bodyOf(chosen({ ...other, schedule: '0 18 * * *', starts: 'round' }, { format: 'elimination' })).format_options).toBeUndefined();
  });
  it('lets a schedule begin rounds where a season has rounds', () => {
    const starts = (format: string) => bodyOf(chosen({ format, schedule: '0 18 * * *', starts: 'round' })).format_options?.schedule_starts;
    expect(['swiss', 'ladder', 'arena', 'elimination'].map(starts)).toEqual(['round', undefined, undefined, undefined]);
    expect(previewOf(chosen({ format: 'elimination', schedule: '0 18 * * *' })).format_options?.schedule_starts).toBe('match');
  });
  it('is a debate with a pack and a judge that is asked', () => {
    const d = chosen({ plays: 'debate', packId: 'pk_1', turns: 3 }, { judges: ['ag_1', 'ag_2'], criteria: 'reasons' });
    expect(bodyOf(d)).toMatchObject({
      debate: { turns: 3 },
      rounds: 6,
      visibility: 'live',
      judge: { kind: 'panel', agents: ['ag_1', 'ag_2'], criteria: 'reasons' },
    });
    expect(judgesOf(d)).toEqual(['panel', 'crowd', 'model']);
    expect(changed(d, { judge: 'crowd' }).visibility).toBe('sealed');
    expect(changed(d, { format: 'elimination' }).format).toBe('ladder');
    expect(bodyOf(changed(d, { plays: 'questions' })).debate).toBeUndefined();
    expect(chosen({ plays: 'debate' }, { plays: 'questions' }, { source: 'generator' }).judge).toBe('number');
  });
  it('of a game sends the game and nothing about questions', () => {
    const d = changed(withGame(chosen({ plays: 'game', title: 'Cup', slug: 'cup' }), DICE), {
      gameOptions: { wilds: 0 },
      games: 4,
      duplicate: true,
      showLegal: false,
      players: 4,
    });
    expect(bodyOf(d)).toEqual({
      title: 'Cup',
      slug: 'cup',
      format: 'ladder',
      score_mode: 'result',
      min_seats: 2,
      max_seats: 4,
      time_limit_seconds: 10,
      break_seconds: 1,
      rated: true,
      visibility: 'sealed',
      game: { name: 'liars_dice', games_per_match: 4, duplicate: true, time_bank_seconds: 60, show_legal_moves: false, wilds: 0 },
    });
    expect(patchOf(d)).toMatchObject({ score_mode: 'result', game: { name: 'liars_dice' } });
    for (const other of ['judge', 'rounds', 'pack_id', 'generator', 'debate', 'canary'])
      expect(bodyOf(changed(d, { canary: 9, judge: 'exact' }))).not.toHaveProperty(other);
  });
  it('of a game keeps what was typed, and takes the pace of a game for that of a question', () => {
    expect(chosen({ plays: 'game' }, { plays: 'questions' })).toEqual(draft());
    expect(chosen({ timeLimit: 33 }, { plays: 'game' })).toMatchObject({ timeLimit: 33, timeBank: 60 });
    expect(chosen({ format: 'elimination' }, { plays: 'game' })).toMatchObject({ format: 'ladder', openEnd: false });
  });
  it('of a game with hidden state is not live, and deals twice only where it deals openly', () => {
    const live = chosen({ plays: 'game' }, { visibility: 'live', duplicate: true });
    expect(visibilitiesOf(live)).toContain('live');
    expect([visibilitiesOf(withGame(live, DICE)), withGame(live, DICE).visibility, withGame(live, DICE).duplicate]).toEqual([
      ['sealed', 'delayed'],
      'sealed',
      false,
    ]);
    expect(withGame(live, { ...DICE, hidden: false }).duplicate).toBe(true);
    expect(withGame(live, { ...DICE, hidden: false, deals: false })).toMatchObject({
      visibility: 'live',
      duplicate: false,
      gameOptions: {},
    });
  });
  it('is shown later where it is asked to be, but not before a crowd', () => {
    const d = chosen({ source: 'pack' }, { visibility: 'delayed', delay: 45 });
    expect([bodyOf(d).visibility, previewOf(d).visibility]).toEqual(['delayed:45', 'delayed:45']);
    expect(bodyOf(changed(d, { plays: 'debate' })).visibility).toBe('live');
    const before = changed(changed(d, { plays: 'debate' }), { judge: 'crowd' });
    expect([bodyOf(before).visibility, visibilitiesOf(before).includes('delayed'), visibilitiesOf(d).includes('delayed')]).toEqual([
      'sealed',
      false,
      true,
    ]);
    expect(bodyOf(changed(before, { judge: 'panel' })).visibility).toBe('live');
  });
  it('has the judge that its questions are made for, until another that fits is chosen', () => {
    expect(chosen({ generator: 'dates' }).judge).toBe('choice');
    expect(chosen({ source: 'pack' }).judge).toBe('choice');
    expect(chosen({ source: 'pack' }, { judge: 'set', partial: true }, { source: 'generator' }).judge).toBe('number');
    expect(chosen({ judge: 'set' }, { title: 'x' }).judge).toBe('set');
    expect(judgesOf(draft())).not.toContain('panel');
  });
  it('sends what belongs to its judge and nothing of another', () => {
    const all = {
      source: 'pack' as const,
      packId: 'pk_1',
      tolerance: 0.5,
      partial: true,
      judges: ['ag_1'],
      criteria: 'wit',
      canary: 9,
      maxCost: 0.25,
    };
    expect(bodyOf(draft({ ...all, judge: 'number' })).judge).toEqual({ kind: 'number', tolerance: 0.5 });
    expect(bodyOf(draft({ ...all, judge: 'set' })).judge).toEqual({ kind: 'set', partial: true });
    expect(bodyOf(draft({ ...all, judge: 'exact' }))).toMatchObject({ judge: { kind: 'exact' }, canary: 9, max_cost_usd: 0.25 });
    expect(bodyOf(draft({ ...all, judge: 'model' }))).toMatchObject({ judge: { kind: 'model', criteria: 'wit' } });
    expect(bodyOf(draft({ ...all, judge: 'model' })).canary).toBeUndefined();
  });
  it('has eight seats at most where a judge is asked', () => {
    expect(chosen({ format: 'elimination', source: 'pack' }, { judge: 'panel' })).toMatchObject({ minSeats: 8, maxSeats: 8 });
  });
  it('says who may enter', () =>
    expect(bodyOf(draft({ allow: ['ag_1'], minRating: 1400, maxRating: 1900, minMatches: 3 })).entry).toEqual({
      allow: ['ag_1'],
      min_rating: 1400,
      max_rating: 1900,
      min_matches: 3,
    }));
  it('has the pace of its format until another is chosen, and filler in rated ladders alone', () => {
    expect(bodyOf(draft())).not.toHaveProperty('pace');
    const swiss = changed(draft(), { format: 'swiss' });
    expect([swiss.perDay, swiss.pause]).toEqual([0, 0]);
    expect(bodyOf(swiss)).not.toHaveProperty('pace');
    expect(changed(draft({ perDay: 7 }), { format: 'swiss' })).toMatchObject({ perDay: 7, pause: 0 });
    expect(bodyOf(draft({ filler: true })).pace).toEqual({ matches_per_day: 24, pause_seconds: 600, unrated_filler: true });
    expect(bodyOf(draft({ filler: true, rated: false }))).not.toHaveProperty('pace');
    expect(patchOf(draft()).pace).toEqual({ matches_per_day: 24, pause_seconds: 600, unrated_filler: false });
  });
});

describe('a draft of a league', () => {
  it.each([
    ['plain', {}],
    ['elimination', { format: 'elimination', openEnd: true, minSeats: 5, maxSeats: 9, starts: 'season' }],
    ['swiss', { format: 'swiss', swissRounds: 5, forfeit: 30, minutes: 60, schedule: 'CRON_TZ=Europe/Madrid 0 20 * * 5', starts: 'round' }],
    ['crowd', { source: 'pack', packId: 'pk_1', judge: 'crowd', criteria: 'wit', window: 40, minVotes: 2, visibility: 'live' }],
    ['crowd of owners', { source: 'pack', packId: 'pk_1', judge: 'crowd', criteria: 'wit', rated: false, voterAccounts: true }],
    ['debate', { plays: 'debate', source: 'pack', packId: 'pk_1', judge: 'model', criteria: 'wit', rounds: 4 }],
    [
      'game',
      {
        plays: 'game',
        game: 'kuhn_poker',
        gameHash: 'abc',
        gameOptions: { hands: 9 },
        games: 6,
        duplicate: true,
        showLegal: false,
        timeBank: 30,
        players: 3,
      },
    ],
    [
      'delayed',
      { visibility: 'delayed', delay: 45, byRound: true, canary: 9, judge: 'exact', maxTokens: 9, zeroOverTokens: true, maxCost: 0.5 },
    ],
    ['texts', { description: 'D', prize: 'P', rulesText: 'R', signupUntil: '2030-01-02T03:04', rules: 'one\ntwo' }],
    ['pace', { perDay: 5, pause: 0.5, filler: true }],
    ['built-in opponents', { plays: 'game', game: 'chess', builtIn: 'random greedy' }],
    ['entry', { allow: ['ag_1'], agentsPerOwner: 2, minRating: 1400, maxRating: 1800, minMatches: 3 }],
  ] as const)('%s makes the same league again', (_, over) => {
    const d = draft({ title: 'Cup', slug: 'cup', ...(over as Partial<Draft>) });
    expect(bodyOf(draftOf(previewOf(d)))).toEqual(bodyOf(d));
  });
  it('keeps that votes need the token of an owner where it is not rated', () => {
    const judge = { kind: 'crowd', criteria: 'wit', window_seconds: 40, min_votes: 2, voter_accounts: true };
    const league = { ...previewOf(draft({ source: 'pack', packId: 'pk_1', rated: false })), judge };
    expect(patchOf(draftOf(league)).judge).toEqual(judge);
  });
  it('takes back what it no longer says', () => {
    const patch = patchOf(draft({ title: 'Cup', slug: 'cup' }));
    expect(patch).toMatchObject({
      title: 'Cup',
      description: '',
      prize: '',
      signup_until: null,
      schedule: '',
      rules: [],
      entry: {},
      canary: 0,
      built_in: [],
      max_tokens: 500,
      score_mode: 'match',
    });
    expect(patch).not.toHaveProperty('slug');
    expect(patch).not.toHaveProperty('format');
  });
  it('that is archived can only be unarchived', () =>
    expect(movesOf({ status: 'open', format: 'ladder', archived_at: '2030-01-01T00:00:00.000Z' })).toEqual(['unarchive']));
});
