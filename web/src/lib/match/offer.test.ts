import { expect, it } from 'vitest';
import type { AnswerBody } from '../api/contract';
import { offerLines } from './offer';

it('an answer without an offer has no lines', () => {
  expect(offerLines(undefined, 'en')).toEqual([]);
  expect(offerLines({ answer: 'x' }, 'en')).toEqual([]);
  expect(offerLines({ answer: 'x', metrics: {}, artifacts: [] }, 'en')).toEqual([]);
});

it('plan, price, time, metrics and artifacts are listed', () => {
  expect(
    offerLines(
      {
        answer: 'x',
        offer: { plan: 'think <b>twice</b>', price_usd: 0.005, eta_seconds: 1.5 },
        metrics: { latency_ms: 1200, model: 'small', parts: [1] },
        artifacts: ['notes.txt', { name: 'a' }],
      },
      'en',
    ),
  ).toEqual([
    ['plan', 'think <b>twice</b>'],
    ['price', '$0.005'],
    ['eta', '1.5 s'],
    ['metrics', 'latency_ms: 1200\nmodel: small\nparts: [1]'],
    ['artifacts', 'notes.txt\n{"name":"a"}'],
  ]);
});

it('a free offer shows its price', () => {
  expect(offerLines({ answer: 'x', offer: { price_usd: 0 } }, 'en')).toEqual([['price', '$0.00']]);
});

it('values of other types, as a log file may have, are left out', () => {
  const odd = { offer: { plan: 1, price_usd: '1', eta_seconds: null }, metrics: [1], artifacts: { a: 1 } };
  expect(offerLines(odd as unknown as AnswerBody, 'en')).toEqual([]);
  expect(offerLines({ offer: null, metrics: null, artifacts: null } as unknown as AnswerBody, 'en')).toEqual([]);
});
