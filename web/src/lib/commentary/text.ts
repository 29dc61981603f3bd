import { duration, isolated, percent, scoreline } from '../format';
import { t, tx, words } from '../i18n';
import '../i18n/commentary.en';
import type { Line } from './commentary';

/** Characters that change the direction of the text around them. */
const DIRECTION = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const NAME_MAX = 28;
/** Rules about answers: their line names the round, since the next question may be on the stage already. */
const ANSWERS: ReadonlySet<string> = new Set(['all_stay', 'none_drop', 'lone', 'nobody', 'fastest', 'late', 'had_it']);

/** A name inside a sentence: on one line, cut, and with a direction of its own. */
export function named(name: string): string {
  const plain = [...name.replace(DIRECTION, '').replace(/\s+/g, ' ').trim()];
  const cut = plain.length > NAME_MAX ? `${plain.slice(0, NAME_MAX - 1).join('')}…` : plain.join('');
  return isolated(cut);
}

/** The text of a line. */
export function textOf(line: Line): string {
  const { language } = words;
  const form = line.n === undefined ? '' : `_${new Intl.PluralRules(language).select(line.n) === 'one' ? 'one' : 'other'}`;
  const [a, b] = line.points ? scoreline(line.points, language) : [];
  const params = {
    ...(line.n === undefined ? {} : { n: line.n }),
    ...(line.left === undefined ? {} : { left: line.left }),
    ...(line.total === undefined ? {} : { total: line.total }),
    ...(line.name === undefined ? {} : { name: named(line.name) }),
    ...(line.other === undefined ? {} : { other: named(line.other) }),
    ...(line.move === undefined ? {} : { move: named(line.move) }),
    ...(line.names ? { names: new Intl.ListFormat(language).format(line.names.map(named)) } : {}),
    ...(line.ms === undefined ? {} : { time: duration(line.ms, language) }),
    ...(line.chance === undefined ? {} : { chance: percent(line.chance, language) }),
    ...(a === undefined ? {} : { a, b }),
  };
  const text = tx(`commentary.say.${line.rule}${form}`, '', params) || tx(`commentary.say.${line.rule}`, '', params);
  return ANSWERS.has(line.rule) ? t('commentary.round', { n: line.round, text }) : text;
}
