import { inZone } from '../find/cron';

// Schedules as days of the week, a time and a zone. Pure.

/** Days count from Sunday, 0. */
export interface Weekly {
  days: readonly number[];
  time: string;
  zone: string;
}

/** The days as people list them. */
export const WEEK = [1, 2, 3, 4, 5, 6, 0] as const;

/** A schedule as days, time and zone; undefined when it is none of that form. */
export function readWeekly(schedule: string): Weekly | undefined {
  const { zone, cron } = inZone(schedule);
  const [, minute, hour, days] = /^(\d{1,2}) (\d{1,2}) \* \* (\*|[0-6](?:,[0-6])*)$/.exec(cron) ?? [];
  if (!minute || !hour || !days || Number(minute) > 59 || Number(hour) > 23) return undefined;
  return {
    days: days === '*' ? [...WEEK] : days.split(',').map(Number),
    time: `${hour.padStart(2, '0')}:${minute.padStart(2, '0')}`,
    zone,
  };
}

/** The schedule of such days, "" of none. */
export function writeWeekly({ days, time, zone }: Weekly): string {
  const [hour, minute] = time.split(':').map(Number);
  if (!days.length || hour === undefined || minute === undefined) return '';
  const on = new Set(days).size === WEEK.length ? '*' : WEEK.filter((d) => days.includes(d)).join(',');
  return `${zone === 'UTC' ? '' : `CRON_TZ=${zone} `}${minute} ${hour} * * ${on}`;
}
