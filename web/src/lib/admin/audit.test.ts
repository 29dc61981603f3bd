import { expect, test } from 'vitest';
import { texts } from '../i18n/admin.en';
import type { AuditEntry } from './api';
import { KINDS, sentence } from './audit';

const entry = (e: Partial<AuditEntry>): AuditEntry => ({
  id: 'au_1',
  at: '2026-11-28T00:00:00.000Z',
  actor: 'ow_1',
  action: 'sign-up',
  ...e,
});
const read = (e: Partial<AuditEntry>) =>
  sentence(entry(e))
    .map((p) => p.text)
    .join('');

test('entries are sentences with the names of today', () => {
  const names = { ow_1: 'Ann', ag_1: 'Fox', quiz: 'Quiz night' };
  expect(read({ names })).toBe('Ann signed up');
  expect(read({ action: 'enter-league', target: 'quiz', after: 'ag_1', names })).toBe('Ann entered Fox in Quiz night');
  expect(read({ action: 'withdraw-from-league', target: 'quiz', before: 'ag_1', names })).toBe('Ann withdrew Fox from Quiz night');
  expect(read({ action: 'create-agent-key', target: 'to_1', after: { agent_id: 'ag_1', name: 'ci' }, names })).toBe(
    'Ann created the key to_1 for Fox',
  );
  expect(read({ action: 'enter-league', target: 'quiz', names })).toBe('Ann entered an agent in Quiz night'); // its details were deleted
  expect(read({ actor: 'admin', action: 'polish-lamp', target: 'la_1' })).toBe('admin: polish-lamp la_1');
  expect(sentence(entry({ action: 'start-league', target: 'quiz', names }))).toEqual([
    { text: '' },
    { text: 'Ann', actor: 'ow_1' },
    { text: ' started ' },
    { text: 'Quiz night', find: 'quiz' },
    { text: '' },
  ]);
});

test('every action that has a sentence is of one kind', () => {
  const known = Object.keys(texts)
    .filter((key) => key.startsWith('admin.act.'))
    .map((key) => key.slice('admin.act.'.length));
  expect(Object.values(KINDS).flat().sort()).toEqual(known.sort());
});
