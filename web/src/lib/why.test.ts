import { describe, expect, it } from 'vitest';
import { en } from './i18n/en';
import { es } from './i18n/es';
import { fill } from './i18n/fill';
import { noteText, voidText, type Text } from './why';

const textIn =
  (words: Readonly<Record<string, string>>): Text =>
  (key, fallback, params = {}) =>
    Object.hasOwn(words, key) ? fill(words[key]!, params) : fallback;
const [english, spanish] = [textIn(en), textIn(es)];

describe('the reason of a void match', () => {
  it('is in the reader’s language', () => {
    expect(voidText(english, 'the game failed', 'game_failed')).toBe('The rules of the game failed');
    expect(voidText(spanish, 'the game failed', 'game_failed')).toBe('Fallaron las reglas del juego');
  });

  it('is shown as it came from an operator and for codes of a newer server', () => {
    expect(voidText(spanish, 'rain', 'operator')).toBe('rain');
    expect(voidText(spanish, 'struck by lightning', 'lightning')).toBe('struck by lightning');
    expect(voidText(spanish)).toBe('');
  });
});

describe('the note of a league', () => {
  it('is in the reader’s language, with its values', () => {
    const note = { note: 'needs 2 idle agents, has 0', note_code: 'needs_agents', note_params: { least: 2, has: 0 } } as const;
    expect(noteText(english, note)).toBe('it needs 2 idle agents and has 0');
    expect(noteText(spanish, note)).toBe('necesita 2 agentes libres y tiene 0');
    const unrated = {
      note: '3 idle agents can meet only unrated: …',
      note_code: 'only_unrated',
      note_params: { idle: 3, meetings: 3 },
    } as const;
    expect(noteText(spanish, unrated)).toBe(
      'los 3 agentes libres solo pueden jugar partidas amistosas: son del mismo propietario o ya se han visto 3 veces en 24 horas',
    );
  });

  it('is shown as it came without a code, or with one of a newer server', () => {
    expect(noteText(spanish, { note: 'round 2 waits for Ann' })).toBe('round 2 waits for Ann');
    expect(noteText(spanish, { note: 'waits for rain', note_code: 'rain' })).toBe('waits for rain');
    expect(noteText(spanish, {})).toBe('');
  });
});
