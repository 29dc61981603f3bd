import type { Language } from './index.svelte';

// The texts of schedules in words. They are put together from parts, as no
// other texts are: days begin with Sunday.
interface CronTexts {
  readonly minute: string;
  readonly minutes: string;
  readonly hour: { readonly plain: string; readonly at: string };
  readonly hours: { readonly plain: string; readonly at: string };
  readonly at: { readonly one: string; readonly other: string };
  readonly daily: string;
  readonly weekdays: string;
  readonly weekly: string;
  readonly dates: string;
  readonly days: readonly string[];
}

export const cronTexts: Readonly<Record<Language, CronTexts>> = {
  en: {
    minute: 'every minute',
    minutes: 'every {n} minutes',
    hour: { plain: 'every hour', at: 'every hour at {m} minutes past' },
    hours: { plain: 'every {n} hours', at: 'every {n} hours at {m} minutes past' },
    at: { one: 'at {time}', other: 'at {time}' },
    daily: 'every day {at}',
    weekdays: 'Monday to Friday {at}',
    weekly: 'every {days} {at}',
    dates: 'on day {days} of every month {at}',
    days: ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'],
  },
  es: {
    minute: 'cada minuto',
    minutes: 'cada {n} minutos',
    hour: { plain: 'cada hora', at: 'cada hora, en el minuto {m}' },
    hours: { plain: 'cada {n} horas', at: 'cada {n} horas, en el minuto {m}' },
    at: { one: 'a la {time}', other: 'a las {time}' },
    daily: 'todos los días {at}',
    weekdays: 'de lunes a viernes {at}',
    weekly: 'todos los {days} {at}',
    dates: 'el día {days} de cada mes {at}',
    days: ['domingos', 'lunes', 'martes', 'miércoles', 'jueves', 'viernes', 'sábados'],
  },
};
