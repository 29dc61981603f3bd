import { describe, expect, it } from 'vitest';
import { words, type Language } from '../i18n';
import { cronWords, inZone } from './cron';

async function wordsIn(language: Language, ...schedule: Parameters<typeof cronWords>): Promise<string | undefined> {
  await words.use(language, false);
  return cronWords(...schedule);
}

describe('a schedule in words', () => {
  it.each([
    ['0 20 * * FRI', 'every Friday at 20:00', 'todos los viernes a las 20:00'],
    ['0 20 * * 5', 'every Friday at 20:00', 'todos los viernes a las 20:00'],
    ['30 9 * * 2,4', 'every Tuesday and Thursday at 09:30', 'todos los martes y jueves a las 09:30'],
    ['0 18 * * 0,6', 'every Saturday and Sunday at 18:00', 'todos los sábados y domingos a las 18:00'],
    ['0 9 * * MON-FRI', 'Monday to Friday at 09:00', 'de lunes a viernes a las 09:00'],
    ['0 1 * * *', 'every day at 01:00', 'todos los días a la 01:00'],
    ['0 8,20 * * *', 'every day at 08:00 and 20:00', 'todos los días a las 08:00 y 20:00'],
    ['0 */6 * * *', 'every day at 00:00, 06:00, 12:00, and 18:00', 'todos los días a las 00:00, 06:00, 12:00 y 18:00'],
    ['0 */2 * * *', 'every 2 hours', 'cada 2 horas'],
    ['15 */2 * * *', 'every 2 hours at 15 minutes past', 'cada 2 horas, en el minuto 15'],
    ['@hourly', 'every hour', 'cada hora'],
    ['5 * * * *', 'every hour at 05 minutes past', 'cada hora, en el minuto 05'],
    ['* * * * *', 'every minute', 'cada minuto'],
    ['*/15 * * * *', 'every 15 minutes', 'cada 15 minutos'],
    ['0 12 1 * *', 'on day 1 of every month at 12:00', 'el día 1 de cada mes a las 12:00'],
    ['0 12 1,15 * ?', 'on day 1 and 15 of every month at 12:00', 'el día 1 y 15 de cada mes a las 12:00'],
    ['@weekly', 'every Sunday at 00:00', 'todos los domingos a las 00:00'],
  ])('%s', async (expression, en, es) => {
    expect(await wordsIn('en', expression)).toBe(en);
    expect(await wordsIn('es', expression)).toBe(es);
  });

  it.each([
    '',
    '@every 5m',
    '0 20 1 1 *',
    '0 20 13 * FRI',
    '*/7 * * * *',
    '0 0-9 * * *',
    '61 * * * *',
    '0 20 * * 7',
    'Friday 20:00',
    '0 0 20 * * *',
    '1-0 * * * *',
    '*/0 * * * *',
    '1/2/3 * * * *',
  ])('has no short form of %s', async (expression) => expect(await wordsIn('en', expression)).toBeUndefined());

  it('is in the zone of the schedule', async () => {
    const friday = 'CRON_TZ=Europe/Madrid 0 20 * * 5';
    expect(await wordsIn('en', friday, 60)).toBe('every Friday at 20:00 (Europe/Madrid)');
    expect(await wordsIn('es', friday, 60, 'Europe/Madrid')).toBe('todos los viernes a las 20:00');
    expect(await wordsIn('en', 'TZ=UTC 0 20 * * 5', 60)).toBe('every Friday at 21:00');
    expect(inZone('  0 20 * * 5 ')).toEqual({ zone: 'UTC', cron: '0 20 * * 5' });
  });

  it('is in the zone of the reader', async () => {
    expect(await wordsIn('en', '0 20 * * FRI', 60)).toBe('every Friday at 21:00');
    expect(await wordsIn('en', '0 23 * * FRI', 120)).toBe('every Saturday at 01:00');
    expect(await wordsIn('en', '0 2 * * SUN', -480)).toBe('every Saturday at 18:00');
    expect(await wordsIn('en', '0 2 * * MON-FRI', -480)).toBe('every Monday, Tuesday, Wednesday, Thursday, and Sunday at 18:00');
    expect(await wordsIn('es', '0 20 * * *', 330)).toBe('todos los días a la 01:30');
    expect(await wordsIn('en', '0 * * * *', 330)).toBe('every hour at 30 minutes past');
  });

  it('stays in UTC where a zone would part its days', async () => {
    expect(await wordsIn('en', '0 12,23 * * FRI', 120)).toBe('every Friday at 12:00 and 23:00 UTC');
    expect(await wordsIn('en', '0 23 1 * *', 120)).toBe('on day 1 of every month at 23:00 UTC');
    expect(await wordsIn('en', '0 20 1 * *', 120)).toBe('on day 1 of every month at 22:00');
  });
});
