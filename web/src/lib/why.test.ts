import { describe, expect, it } from 'vitest';
import { en } from './i18n/en';
import { es } from './i18n/es';
import { fill } from './i18n/fill';
import { voidText, type Text } from './why';

const textIn = (words: Readonly<Record<string, string>>): Text => (key, fallback, params = {}) => (Object.hasOwn(words, key) ? fill(words[key]!, params) : fallback);
const [english, spanish] = [textIn(en), textIn(es)];

describe('the reason of a void match', () => {
  it('is in the reader’s language', () => {
    expect(voidText(english, 'the game failed', 'game_failed')).toBe('The rules of the game failed');
    expect(voidText(spanish, 'the game failed', 'game_failed')).toBe('Fallaron las reglas del juego');
  });

  it('is shown as it came from an operator, from older events and for codes of a newer server', () => {
    expect(voidText(spanish, 'rain', 'operator')).toBe('rain');
    expect(voidText(spanish, 'the game failed')).toBe('the game failed');
    expect(voidText(spanish, 'struck by lightning', 'lightning')).toBe('struck by lightning');
    expect(voidText(spanish)).toBe('');
  });
});
