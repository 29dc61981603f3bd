import { t, tn, tx, words } from '../i18n';

// Cron expressions (five fields in UTC, or @daily and the like) in words.

const MINUTES_A_DAY = 24 * 60;
/** More times a day than these are not listed. */
const MOST_TIMES = 4;

const NAMED: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

/** A field as sorted values; undefined when it is not understood. */
function values(field: string, min: number, max: number, names: readonly string[] = []): number[] | undefined {
  const found = new Set<number>();
  const number = (text: string): number => {
    const named = names.indexOf(text.toLowerCase());
    return named >= 0 ? named : /^\d+$/.test(text) ? Number(text) : NaN;
  };
  for (const part of field.split(',')) {
    const [range = '', stepText, more] = part.split('/');
    const step = stepText === undefined ? 1 : number(stepText);
    const [low = '', high, third] = range.split('-');
    const any = range === '*' || range === '?';
    const from = any ? min : number(low);
    const to = any || (high === undefined && stepText !== undefined) ? max : high === undefined ? from : number(high);
    if (more !== undefined || third !== undefined || !(step >= 1) || !(from >= min) || !(to <= max) || from > to) return undefined;
    for (let v = from; v <= to; v += step) found.add(v);
  }
  return [...found].sort((a, b) => a - b);
}

/** n when a field is every nth value from 0 on, without a shorter last gap. */
function everyNth(list: readonly number[], size: number): number | undefined {
  const n = list.length > 1 ? (list[1] ?? 0) - (list[0] ?? 0) : size;
  return list.length > 1 && size % n === 0 && list.length === size / n && list.every((v, i) => v === i * n) ? n : undefined;
}

const clockTime = (minutes: number): string =>
  `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`;

/** A schedule's time zone and its cron expression: "CRON_TZ=Europe/Madrid 0 20 * * 5". */
export function inZone(schedule: string): { zone: string; cron: string } {
  const [, zone = 'UTC', cron = schedule.trim()] = /^(?:CRON_)?TZ=(\S+)\s+(.*)$/.exec(schedule.trim()) ?? [];
  return { zone, cron };
}

/**
 * When a schedule runs, as "every Friday at 20:00". offset is the reader's zone in minutes east of UTC;
 * a schedule that no zone but UTC can say so shortly gets times in UTC, named so. A schedule with a zone of
 * its own gets times in that zone, named so unless it is here, the reader's zone. Undefined: no short form.
 */
export function cronWords(schedule: string, readerOffset = 0, here = ''): string | undefined {
  const { zone: own, cron: expression } = inZone(schedule);
  const offset = own === 'UTC' ? readerOffset : 0;
  const [minute = '', hour = '', dom = '', month = '', dow = '', more] = (NAMED[expression] ?? expression).split(/\s+/);
  const minutes = values(minute, 0, 59);
  const hours = values(hour, 0, 23);
  const dates = values(dom, 1, 31);
  const days = values(dow, 0, 6, DAYS);
  const anyDate = dom === '*' || dom === '?';
  const anyDay = dow === '*' || dow === '?' || days?.length === 7;
  if (more !== undefined || !minutes || !hours || !dates || !days || !(month === '*' || month === '?') || (!anyDate && !anyDay))
    return undefined;

  const list = (items: readonly string[]) => new Intl.ListFormat(words.language, { type: 'conjunction' }).format(items);
  if (anyDate && anyDay) {
    const [first = 0] = minutes;
    const allHours = hours.length === 24;
    const nthMinute = everyNth(minutes, 60);
    if (allHours && nthMinute) return nthMinute === 1 ? t('cron.minute') : t('cron.minutes', { n: nthMinute });
    const at = minutes.length === 1 ? (((first + offset) % 60) + 60) % 60 : 0;
    if (allHours && minutes.length === 1) return at ? t('cron.hour.at', { m: String(at).padStart(2, '0') }) : t('cron.hour');
    const nthHour = minutes.length === 1 ? everyNth(hours, 24) : undefined;
    if (nthHour && hours.length > MOST_TIMES) return t(at ? 'cron.hours.at' : 'cron.hours', { n: nthHour, m: String(at).padStart(2, '0') });
  }
  if (hours.length * minutes.length > MOST_TIMES) return undefined;

  let times = hours.flatMap((h) => minutes.map((m) => h * 60 + m + offset));
  let shifts = new Set(times.map((time) => Math.floor(time / MINUTES_A_DAY)));
  let zone = own === 'UTC' || own === here ? '' : ` (${own})`;
  // All times of a day must stay on one day, and days of a month keep their number.
  const movable = (anyDate && anyDay) || (anyDate ? shifts.size === 1 : [...shifts].join() === '0');
  if (!movable) {
    times = times.map((time) => time - offset);
    shifts = new Set([0]);
    zone = ' UTC';
  }
  const shift = anyDay ? 0 : ([...shifts][0] ?? 0);
  const clocks = times.map((time) => ((time % MINUTES_A_DAY) + MINUTES_A_DAY) % MINUTES_A_DAY).sort((a, b) => a - b);
  const one = clocks.length === 1 && Math.floor((clocks[0] ?? 0) / 60) === 1;
  const at = tn('cron.at', one ? 1 : 2, { time: list(clocks.map(clockTime)) + zone });
  if (!anyDate) return t('cron.dates', { days: list(dates.map(String)), at });
  if (anyDay) return t('cron.daily', { at });
  const on = days.map((d) => (((d + shift) % 7) + 7) % 7).sort((a, b) => (a || 7) - (b || 7));
  if (on.join() === '1,2,3,4,5') return t('cron.weekdays', { at });
  return t('cron.weekly', { days: list(on.map((d) => tx(`cron.day.${d}`, ''))), at });
}

/** The reader's zone. */
export const readerZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The reader's zone at a moment, in minutes east of UTC. */
export const offsetAt = (at: Date): number => -at.getTimezoneOffset();
