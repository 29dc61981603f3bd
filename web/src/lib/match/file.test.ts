import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { applyEvents } from './apply';
import { readLog } from './file';
import { emptyMatch } from './state';

const text = (name: string) => readFileSync(`src/lib/fixtures/${name}.jsonl`, 'utf8');
const lines = text('duel').trim().split('\n');
const change = (line: number, edit: (e: Record<string, unknown>) => unknown) =>
  lines.map((l, i) => (i === line - 1 ? JSON.stringify(edit(JSON.parse(l))) : l)).join('\n');

describe('a log in a file', () => {
  it.each(['duel', 'table', 'elimination', 'debate', 'vote'])('is read: %s', (name) => {
    const { file, bad } = readLog(text(name));
    expect(bad).toEqual([]);
    expect(applyEvents(emptyMatch('m'), file.events).status).toBe('finished');
  });

  it('may begin with the match, have empty lines and Windows line ends', () => {
    const { file, bad } = readLog(`{"match":{"match_id":"m_1","league":"trivia"}}\r\n\r\n${lines.join('\r\n')}\r\n`);
    expect(bad).toEqual([]);
    expect(file.match?.match_id).toBe('m_1');
    expect(file.events.length).toBe(lines.length);
  });

  it.each([
    ['no JSON', change(4, () => 0).replace('\n0\n', '\n{"seq":4,\n'), 4, 'json', ''],
    ['a number', change(4, () => 12), 4, 'object', ''],
    ['a list', change(4, () => []), 4, 'object', ''],
    ['no number', change(4, ({ seq: _, ...e }) => e), 4, 'seq', ''],
    ['a line that is missing', lines.toSpliced(3, 1).join('\n'), 4, 'gap', '4'],
    ['a line that is there twice', lines.toSpliced(3, 0, lines[2]!).join('\n'), 4, 'gap', '4'],
    ['no time', change(4, (e) => ({ ...e, ts: 'noon' })), 4, 'ts', ''],
    ['a type of nobody', change(4, (e) => ({ ...e, type: 'constructor' })), 4, 'type', 'constructor'],
    ['a task without a question', change(3, (e) => ({ ...e, task: {} })), 3, 'field', 'task'],
    ['seats that are none', change(1, (e) => ({ ...e, seats: [null] })), 1, 'field', 'seats'],
    ['an agent that is a number', change(4, (e) => ({ ...e, agent_id: 7 })), 4, 'field', 'agent_id'],
    ['another match', change(5, (e) => ({ ...e, match_id: 'm_other' })), 5, 'mixed', ''],
    ['no beginning', lines.slice(2).join('\n'), 1, 'first', ''],
  ])('%s is reported by line', (_, content, line, wrong, what) => {
    expect(readLog(content).bad[0]).toEqual({ line, wrong, what });
  });

  it('reports ten bad lines and no more', () => {
    expect(readLog('x\n'.repeat(5000)).bad.length).toBe(10);
  });
});
