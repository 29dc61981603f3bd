import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readLog } from '../match/file';
import { Recording } from '../match/recording';
import { emptyMatch, lastRound } from '../match/state';
import { lineOf } from './commentary';
import { words } from '../i18n';
import { textOf } from './text';

const events = (name: string) => readLog(readFileSync(`src/lib/fixtures/game-${name}.jsonl`, 'utf8')).file.events;

/** The rules of the lines after each closed turn, and that of the result. */
function rules(name: string): string[] {
  const recording = new Recording(emptyMatch('m'));
  recording.push(events(name));
  const lines = recording.chapters.map((c) => lineOf(recording.at(c.closed), c.no, false)!.rule);
  return [...lines, lineOf(recording.head, recording.chapters.at(-1)!.no, true)!.rule];
}

describe('the commentary of a game', () => {
  it('names lines, forfeits and the game that decides the series', () => {
    const four = rules('connect-four');
    expect(four[4]).toBe('move_again');
    expect(new Set(four.slice(0, 4))).toEqual(new Set(['move']));
    expect(four.filter((r) => r !== 'move' && r !== 'move_again')).toEqual([
      'game_line',
      'game_forfeit',
      'series_decided',
      'game_forfeit',
      'win_score',
    ]);
  });

  it('names swings, captures and mates of chess', () => {
    expect(rules('chess').slice(0, 7)).toEqual(['move', 'move', 'move', 'move', 'move', 'move_again', 'game_mate']);
    expect(rules('chess').slice(7)).toEqual(['move', 'move', 'move', 'swing', 'move', 'check', 'game_drawn', 'win_score']);
  });

  it('names who calls whom where cards are turned up', () => {
    expect(rules('liars-dice')).toEqual(['move', 'move_again', 'move', 'called_right', 'win_points']);
    expect(rules('kuhn-poker')).toEqual(['move', 'move', 'move', 'move', 'called_right', 'move', 'move', 'game_won', 'win_score']);
  });

  it('names moves made at once, and draws', () => {
    expect(rules('colonel-blotto')).toEqual(['game_drawn', 'game_drawn', 'draw']);
    expect(rules('negotiation').at(-1)).toBe('win_score');
  });

  it.each(['connect-four', 'chess', 'liars-dice', 'kuhn-poker', 'colonel-blotto', 'negotiation'])(
    'says nothing of an open turn, and leaves no blank: %s',
    async (name) => {
      const recording = new Recording(emptyMatch('m'));
      recording.push(events(name));
      for (let p = 1; p <= recording.length; p++) {
        const m = recording.at(p);
        const line = lineOf(m, lastRound(m)?.no ?? 0, false);
        if (!line) continue;
        expect(m.rounds.find((r) => r.no === line.round)!.closedAt).toBeTruthy();
        for (const language of ['es', 'en'] as const) {
          await words.use(language, false);
          expect(textOf(line)).not.toMatch(/[{}]|undefined/);
        }
      }
    },
  );
});
