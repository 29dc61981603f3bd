import { expect, test } from 'vitest';
import { tx } from '../i18n';
import '../i18n/admin.en';
import { type Fact, factKey, factParams } from './status';

const now = Date.parse('2026-11-23T12:00:00Z');
const ago = (minutes: number) => new Date(now - minutes * 60_000).toISOString();

test.each<[string, Fact]>([
  [
    'Only 7.5\u00a0GiB of 120\u00a0GiB free on the disk of /var/lib/arena.',
    { name: 'disk', level: 'warning', subject: '/var/lib/arena', value: 7.5 * 2 ** 30, of: 120 * 2 ** 30 },
  ],
  ['Last backup 2 hr. ago.', { name: 'backup', level: 'ok', at: ago(120) }],
  ['No backups configured.', { name: 'backup', level: 'warning' }],
  ['The certificate expires in 60 days.', { name: 'certificate', level: 'ok', at: ago(-60 * 24 * 60) }],
  ['There is no certificate yet.', { name: 'certificate', level: 'critical' }],
  ['2 of 3 nodes up.', { name: 'nodes', level: 'warning', value: 2, of: 3 }],
  ['4 matches are due. The oldest has waited 12:30.', { name: 'queue', level: 'critical', value: 4, at: ago(12.5) }],
  ['Matches start on time.', { name: 'queue', level: 'ok' }],
  ['No scheduled job has run for 12:30: no pairing, health checks or backups.', { name: 'schedule', level: 'warning', at: ago(12.5) }],
  ['Scheduled jobs run.', { name: 'schedule', level: 'ok' }],
])('%s', (sentence, fact) => expect(tx(factKey(fact), '', factParams(fact, now, 'en'))).toBe(sentence));
