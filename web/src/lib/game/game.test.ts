import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readLog } from '../match/file';
import { applyEvents } from '../match/apply';
import { momentsOf } from '../match/moments';
import { oddsOf } from '../match/odds';
import { Recording } from '../match/recording';
import { emptyMatch, lastRound, verdict, type MatchState } from '../match/state';
import { barsOf, formOf, pips, placementOf, type Cards, type Grid, type Table, type Transcript } from './forms';
import { bankLeft, gamesOf, seatedOf, swapped, whyOf } from './moves';
import { notesOf } from './notes';
import { latest, snapshotOf, swingOf, type Place } from './place';

const NAMES = ['connect-four', 'chess', 'liars-dice', 'kuhn-poker', 'colonel-blotto', 'negotiation'] as const;
const events = (name: string) => readLog(readFileSync(`src/lib/fixtures/game-${name}.jsonl`, 'utf8')).file.events;
const whole = (name: string): MatchState => applyEvents(emptyMatch('m'), events(name));
const points = (n: number) => String(n);
const lastForm = (name: string) => formOf(latest(lastRound(whole(name))!.turn!).state);

describe('the log of a game', () => {
  it.each(NAMES)('is read: %s', (name) => {
    const { file, bad } = readLog(readFileSync(`src/lib/fixtures/game-${name}.jsonl`, 'utf8'));
    expect(bad).toEqual([]);
    const m = applyEvents(emptyMatch('m'), file.events);
    expect(m.status).toBe('finished');
    expect(m.rounds.every((r) => r.turn?.closed && formOf(r.turn.closed.state))).toBe(true);
  });

  it('asks only the seats that act', () => {
    const m = whole('connect-four');
    for (const r of m.rounds) expect(Object.keys(r.lanes)).toEqual(r.turn!.toAct);
  });

  it('reveals what agents did when the match ends, not when a turn closes', () => {
    const log = events('connect-four');
    const open = applyEvents(
      emptyMatch('m'),
      log.slice(
        0,
        log.findIndex((e) => e.type === 'reveal'),
      ),
    );
    expect(open.rounds.slice(0, -1).some((r) => r.revealed)).toBe(false);
    const over = applyEvents(open, log.slice(log.findIndex((e) => e.type === 'reveal')));
    expect(over.rounds.every((r) => r.revealed)).toBe(true);
    expect(over.rounds[0]!.lanes[over.rounds[0]!.turn!.toAct[0]!]!.entries[0]!.body['message']).toBeTruthy();
  });

  it('has no right or wrong moves', () => {
    const judged = whole('connect-four').rounds.flatMap((r) => Object.values(r.lanes).map((l) => verdict(r, l)));
    expect(new Set(judged)).toEqual(new Set(['said', 'none']));
  });
});

describe('a public state', () => {
  it('is a place of a series', () => {
    const place = whole('connect-four').rounds[0]!.turn!.opened.place;
    expect(place).toMatchObject({ game: 1, games: 4, turn: 1, over: false, points: [], evaluation: [] });
    expect(place.players).toHaveLength(2);
  });

  it.each([[undefined], [null], ['grid'], [{}], [{ players: [] }], [{ players: [1] }], [{ players: 'ab' }]])('%j is none', (state) => {
    expect(snapshotOf(state)).toBeUndefined();
  });

  it('has points and an evaluation for each player, or none', () => {
    const at = (more: object) => snapshotOf({ players: ['a', 'b'], ...more })!.place;
    expect(at({ points: [1], evaluation: [0.5, 'x'], game: -1, games: 1.5, turn: '3' })).toMatchObject({
      points: [],
      evaluation: [],
      game: 1,
      games: 1,
      turn: 0,
    });
    expect(at({ evaluation: [-3, 9] }).evaluation).toEqual([0, 1]);
  });

  it.each([
    [null],
    [7],
    [{}],
    [{ kind: 'constructor' }],
    [{ kind: 'grid' }],
    [{ kind: 'grid', rows: 0, columns: 3 }],
    [{ kind: 'grid', rows: 41, columns: 3 }],
    [{ kind: 'grid', rows: 1.5, columns: 3 }],
  ])('%j has no form', (state) => {
    expect(formOf(state)).toBeUndefined();
  });

  it('of a grid keeps what fits the board', () => {
    const grid = formOf({
      kind: 'grid',
      rows: 2,
      columns: 2,
      cells: ['x', '', 3, 'constructor', 'x'],
      pieces: { x: { player: 0, symbol: 'XX' } },
      last: [0, 4, -1, 'a', 0.5],
      line: 'no',
      caption: 'c'.repeat(999),
    }) as Grid;
    expect(grid.cells).toEqual([{ player: 0, symbol: 'X' }, undefined, undefined, { player: -1, symbol: 'c' }]);
    expect([grid.last, grid.line, grid.fen, grid.caption.length]).toEqual([[0], [], '', 300]);
  });

  it('of cards, tables and transcripts leaves out what is malformed', () => {
    expect(formOf({ kind: 'cards', hands: [null, 3, { cards: 'A' }], table: 1, pot: 'x', log: [{}] })).toEqual({
      kind: 'cards',
      caption: '',
      hands: [{ player: -1, cards: [], dice: false, out: false, bet: 0 }],
      table: [],
      pot: 0,
      hand: 0,
      total: 0,
      log: [{ player: -1, text: '' }],
    });
    expect((formOf({ kind: 'table', rows: [{ values: [1, null] }] }) as Table).rows).toEqual([
      { player: -1, values: ['1', ''], total: '', won: [] },
    ]);
    expect(
      (formOf({ kind: 'transcript', lines: Array(900).fill({ player: 1, text: 'x'.repeat(9999) }) }) as Transcript).lines.map(
        (l) => l.text.length,
      ),
    ).toEqual(Array(400).fill(4000));
  });

  it.each([
    ['rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1', 'rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR'],
    ['8/8/8/8/8/8/8', ''],
    ['9/8/8/8/8/8/8/8', ''],
    ['"><script>/8/8/8/8/8/8/8', ''],
    ['', ''],
  ])('the FEN %s stands for %j', (fen, placement) => {
    expect(placementOf(fen)).toBe(placement);
  });

  it('of each game has its form', () => {
    expect(NAMES.map((n) => lastForm(n)!.kind)).toEqual(['grid', 'grid', 'cards', 'cards', 'table', 'transcript']);
    expect((lastForm('chess') as Grid).fen).toMatch(/^[^ ]+$/);
    expect((lastForm('liars-dice') as Cards).hands[0]!.cards.map(pips)).toEqual([2, 5, 5]);
    expect(barsOf(lastForm('colonel-blotto') as Table)[0]![0]).toBe(1);
  });
});

describe('the moves of a match', () => {
  it('are listed by game, with how they came about', () => {
    const games = gamesOf(whole('connect-four'), Infinity);
    expect(games.map((g) => g.game)).toEqual([1, 2, 3, 4]);
    expect(games[0]!.moves[4]!.manner).toBe('retried');
    expect(games[1]!.moves.at(-1)).toMatchObject({ manner: 'forfeit', turn: 6, move: '' });
    expect(games[1]!.forfeits).toHaveLength(1);
    expect(whyOf(games[1]!.moves.at(-1)!.lane)).toBe('late');
    expect(whyOf(games[3]!.moves.at(-1)!.lane)).toBe('illegal');
    expect(games.every((g) => g.points)).toBe(true);
  });

  it('of a default are no forfeit', () => {
    const m = whole('connect-four');
    const round = m.rounds[0]!;
    const id = round.turn!.toAct[0]!;
    const changed = {
      ...round,
      lanes: { [id]: { ...round.lanes[id]!, outcome: 'timeout' as const } },
      turn: { ...round.turn!, moves: [{ agent_id: id, move: '4', legal: false }] },
    };
    const then = { ...m, rounds: [changed] };
    expect(gamesOf(then, 1)[0]!.moves[0]!.manner).toBe('default');
    expect(notesOf(then, 1, points).map((n) => n.key)).toEqual(['game.why.late', 'game.then.default']);
  });

  it('after the position that is shown are not in it', () => {
    const recording = new Recording(emptyMatch('m'));
    recording.push(events('connect-four'));
    for (let p = 0; p <= recording.length; p++) {
      const m = recording.at(p);
      const closed = m.rounds.filter((r) => r.closedAt).length;
      expect(gamesOf(m, Infinity).flatMap((g) => g.moves)).toHaveLength(closed);
    }
  });

  it('are said in words where something went wrong, and when a game ends', () => {
    const m = whole('connect-four');
    const ends = m.rounds.filter((r) => r.turn!.closed!.place.over).map((r) => notesOf(m, r.no, points).map((n) => n.key));
    expect(ends).toEqual([
      ['game.result.win'],
      ['game.why.late', 'game.then.forfeit', 'game.result.win'],
      ['game.result.win'],
      ['game.why.illegal', 'game.then.forfeit', 'game.result.win'],
    ]);
    expect(notesOf(m, 5, points).map((n) => n.key)).toEqual(['game.note.retried']);
    expect(notesOf(m, 0, points)).toEqual([]);
    expect(notesOf(whole('liars-dice'), 99, points).at(-1)!.key).toBe('game.result.many');
    expect(notesOf(whole('colonel-blotto'), 99, points).at(-1)!.key).toBe('game.result.draw');
  });
});

describe('the players', () => {
  const log = events('connect-four');
  const opened = (game: number) => {
    const at = log.findIndex((e) => e.type === 'round_started' && (e.state as { game: number }).game === game);
    return applyEvents(emptyMatch('m'), log.slice(0, at + 1));
  };

  it('change sides after each game', () => {
    const place = (game: number) => lastRound(opened(game))!.turn!.opened.place;
    expect([1, 2, 3, 4].map((g) => swapped(opened(g), place(g)))).toEqual([false, true, false, true]);
  });

  it('move in turn, with their time bank', () => {
    const m = opened(1);
    const round = lastRound(m)!;
    expect(seatedOf(m, round, round.turn!).map((s) => [s.moves, s.locked, s.bank])).toEqual([
      [true, false, 20],
      [false, false, 20],
    ]);
  });

  it('who move at once are locked in one by one', () => {
    const both = events('colonel-blotto');
    const m = applyEvents(emptyMatch('m'), both.slice(0, both.findIndex((e) => e.type === 'seat_outcome') + 1));
    const round = lastRound(m)!;
    expect(
      seatedOf(m, round, round.turn!)
        .map((s) => [s.moves, s.locked])
        .sort(),
    ).toEqual([
      [false, true],
      [true, false],
    ]);
  });

  it('use the bank only after the time limit of a move', () => {
    expect([0, 9_000, 12_000, 90_000].map((ms) => bankLeft(20, 10, ms))).toEqual([20, 20, 18, 0]);
  });
});

describe('the evaluation', () => {
  const place = (evaluation: number[], game = 1): Place => ({
    game,
    games: 2,
    turn: 1,
    players: ['a', 'b'],
    over: false,
    points: [],
    evaluation,
  });

  it('swings when a player gains a quarter in a move', () => {
    expect(swingOf(place([0.5, 0.5]), place([0.2, 0.8]))).toMatchObject({ agentId: 'b' });
    expect(swingOf(place([0.5, 0.5]), place([0.4, 0.6]))).toBeUndefined();
    expect(swingOf(place([0.5, 0.5]), place([0.2, 0.8], 2))).toBeUndefined();
    expect(swingOf(undefined, place([0.2, 0.8]))).toBeUndefined();
    expect(swingOf(place([]), place([0.2, 0.8]))).toBeUndefined();
  });

  it('makes decisive moments, as the ends of games do', () => {
    const recording = new Recording(emptyMatch('m'));
    recording.push(events('chess'));
    const kinds = momentsOf(recording.turns).map((m) => m.kind);
    expect(kinds.filter((k) => k === 'game')).toHaveLength(2);
    expect(kinds).toContain('swing');
    expect(kinds).not.toContain('last');
  });
});

it('the win chance of a match counts its games', () => {
  const log = events('connect-four');
  const at = (position: number) => oddsOf(applyEvents(emptyMatch('m'), log.slice(0, position)), {})!;
  expect(at(3)).toMatchObject({ kind: 'chance', first: 0.5 });
  const ended = log.findIndex((e) => e.type === 'round_closed' && (e.state as { over?: boolean }).over) + 1;
  expect(at(ended).first).toBeLessThan(0.4);
  expect(at(ended + 1).first).toBeCloseTo(at(ended).first);
});
