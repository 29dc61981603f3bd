import { beforeEach, describe, expect, it } from 'vitest';
import { words } from './i18n';
import { noteText, voidText } from './why';

beforeEach(() => words.use('en', false));

describe('the reason of a void match', () => {
  it('is in the reader’s language', async () => {
    expect(voidText('the game failed', 'game_failed')).toBe('The rules of the game failed');
    await words.use('es', false);
    expect(voidText('the game failed', 'game_failed')).toBe('Fallaron las reglas del juego');
  });

  it('is shown as it came from an operator and for codes of a newer server', () => {
    expect(voidText('rain', 'operator')).toBe('rain');
    expect(voidText('struck by lightning', 'lightning')).toBe('struck by lightning');
    expect(voidText()).toBe('');
  });
});

describe('the note of a league', () => {
  it('is in the reader’s language, with its values', async () => {
    const note = { note: 'needs 2 idle agents, has 0', note_code: 'needs_agents', note_params: { least: 2, has: 0 } } as const;
    expect(noteText(note)).toBe('needs 2 idle agents, has 0');
    await words.use('es', false);
    expect(noteText(note)).toBe('necesita 2 agentes libres y tiene 0');
    const unrated = {
      note: '3 idle agents can meet only unrated: …',
      note_code: 'only_unrated',
      note_params: { idle: 3, meetings: 3 },
    } as const;
    expect(noteText(unrated)).toBe(
      'los 3 agentes libres solo pueden jugar partidas amistosas: son del mismo propietario o ya se han visto 3 veces en 24 horas',
    );
  });

  it('names the cheats that an audit found', () => {
    const note_params = { cheats: 'copier, short_delay, tomorrow' };
    expect(noteText({ note: 'the audit …', note_code: 'audit', note_params })).toBe(
      'its audit found that agents can cheat: Copying what is public; The delay is shorter than the time limit; tomorrow',
    );
  });

  it('says until when agents play elsewhere', () => {
    const note_params = { round: 2, agent: 'Ann', until: '2026-11-21T12:00:00Z' };
    expect(noteText({ note: 'round 2 …', note_code: 'plays_elsewhere', note_params })).toMatch(
      /^round 2 waits for Ann, still playing elsewhere, until .*:00:00.* at the latest$/,
    );
  });

  it('is shown as it came without a code, or with one of a newer server', () => {
    expect(noteText({ note: 'round 2 waits for Ann' })).toBe('round 2 waits for Ann');
    expect(noteText({ note: 'waits for rain', note_code: 'rain' })).toBe('waits for rain');
    expect(noteText({})).toBe('');
  });
});
