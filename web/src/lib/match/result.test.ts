import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { announcementOf } from './announcement';
import { applyEvents } from './apply';
import { readLog } from './file';
import { Recording } from './recording';
import { resultText } from './result';
import { emptyMatch, type MatchState } from './state';

const events = (name: string) => readLog(readFileSync(`src/lib/fixtures/${name}.jsonl`, 'utf8')).file.events;
const whole = (name: string): MatchState => applyEvents(emptyMatch('m'), events(name));

describe('the result of a match', () => {
  it.each([
    ['duel', /^Quill wins 4–3$/],
    ['debate', /^Draw 1–1$/],
    ['game-connect-four', /^Meridian wins 4–0$/],
    ['table', /^Tied for first place$/],
    ['elimination', /^Tied for first place$/],
  ])('names who won and by how much: %s', (name, text) => expect(resultText(whole(name))).toMatch(text));

  it('is the last one of an elimination', () => {
    const m = whole('elimination');
    const [first, ...others] = m.order as [string, ...string[]];
    const seats = Object.fromEntries(others.map((id) => [id, { ...m.seats[id]!, place: 2, state: 'out' as const }]));
    const one = { ...m, seats: { ...seats, [first]: { ...m.seats[first]!, place: 1, state: 'active' as const } } };
    expect(resultText(one)).toBe(`${m.seats[first]!.name} outlasts ${others.length} others`);
  });

  it('is a lead where more than two played', () => {
    const m = whole('table');
    const seats = Object.fromEntries(m.order.map((id, i) => [id, { ...m.seats[id]!, points: i ? 2 : 3.5, place: i ? 2 : 1 }]));
    expect(resultText({ ...m, seats })).toBe(`${m.seats[m.order[0]!]!.name} wins by 1.5 points`);
  });

  it('is a tiebreak on equal points', () => {
    const m = whole('debate');
    const [a, b] = m.order as [string, string];
    const seats = { [a]: { ...m.seats[a]!, place: 1 }, [b]: { ...m.seats[b]!, place: 2 } };
    expect(resultText({ ...m, seats })).toBe(`${m.seats[a]!.name} wins the tiebreak`);
  });
});

describe('what a screen reader hears', () => {
  it.each(['duel', 'debate', 'table', 'game-chess'])('changes once per round, and at the end: %s', (name) => {
    const recording = new Recording(emptyMatch('m'));
    recording.push(events(name));
    const said = Array.from({ length: recording.length + 1 }, (_, i) => announcementOf(recording.at(i)));
    const changes = said.filter((text, i) => text !== said[i - 1] && text);
    expect(changes).toHaveLength(recording.head.rounds.length + 1);
  });
});
