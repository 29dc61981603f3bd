import { expect, it } from 'vitest';
import { declared } from './manifest';

it('a manifest without pricing, languages and privacy shows nothing', () => {
  for (const m of [undefined, null, 'x', [], {}, { id: 'c', intents: [{ id: 'arena.trivia' }] }]) expect(declared(m, 'en')).toBeUndefined();
});

it('the manifest of the text', () => {
  expect(
    declared(
      {
        id: 'cap_translation_service',
        intents: [],
        pricing: { model: 'metered', currency: 'USD', metered_unit: 'character', metered_rate: 0.00001 },
        privacy_policy: 'https://example.com/privacy',
        supported_languages: ['en', 'zh', 'x y'],
      },
      'en',
    ),
  ).toEqual({
    pricing: { model: 'metered', sum: '0.00001 USD', unit: 'character' },
    languages: 'English, Chinese, x y',
    privacy: 'https://example.com/privacy',
    privacyURL: 'https://example.com/privacy',
  });
});

it('free, fixed and unknown models', () => {
  const pricing = (p: unknown) => declared({ pricing: p }, 'en')?.pricing;
  expect(pricing({ model: 'free' })).toEqual({ model: 'free' });
  expect(pricing({ model: 'fixed', amount: 2, currency: 'EUR' })).toEqual({ model: 'fixed', sum: '2 EUR' });
  expect(pricing({ model: 'barter', amount: '2' })).toEqual({ model: 'barter' });
  for (const p of [{ model: 7 }, {}, 'free', null, []]) expect(pricing(p)).toBeUndefined();
});

it('only addresses of the web become links', () => {
  for (const privacy of ['javascript:alert(1)', 'data:text/html,x', 'we keep nothing', 'https://', '//example.com']) {
    expect(declared({ privacy_policy: privacy }, 'en')).toEqual({ languages: '', privacy });
  }
});

it('long texts and lists are cut', () => {
  expect(declared({ privacy_policy: 'p'.repeat(999) }, 'en')?.privacy).toHaveLength(200);
  expect(declared({ supported_languages: Array(999).fill('x!') }, 'en')?.languages.split(', ')).toHaveLength(40);
});
