import { describe, expect, it } from 'vitest';
import { bodyOf, emptyDraft, previewOf, slugOf } from './draft';

describe('a slug', () => {
  it.each([
    ['Night Cup', 'night-cup'], ['  ¡Copa de Otoño!  ', 'copa-de-otono'], ['A & B -- C', 'a-b-c'], ['日本', ''], ['x'.repeat(60), 'x'.repeat(40)],
    [`${'y'.repeat(39)} z`, 'y'.repeat(39)],
  ])('of %s is %s', (title, want) => expect(slugOf(title)).toBe(want));
});

describe('a draft', () => {
  it('sends only what was said', () =>
    expect(bodyOf({ ...emptyDraft(), title: 'Cup', slug: 'cup' })).toEqual({
      title: 'Cup', slug: 'cup', format: 'ladder', generator: { name: 'arithmetic', difficulty: 2 }, judge: { kind: 'number' }, rounds: 5,
      time_limit_seconds: 20, break_seconds: 3, rated: true, visibility: 'sealed',
    }));
  it('sends seats where a match may have many, a pack in place of a generator, rules by line', () =>
    expect(bodyOf({
      ...emptyDraft(), format: 'elimination', openEnd: true, source: 'pack', packId: 'pk_1', judge: 'crowd', criteria: 'wit', rules: 'one\n\n two ',
      schedule: '* * * * *', password: 'sesame', agentsPerOwner: 2, sealed: false, rated: false,
    })).toMatchObject({
      pack_id: 'pk_1', rounds: null, min_seats: 8, max_seats: 128, rules: ['one', 'two'], schedule: '* * * * *', visibility: 'live',
      judge: { kind: 'crowd', criteria: 'wit', window_seconds: 30 }, entry: { password: 'sesame', agents_per_owner: 2 },
    }));
  it('never shows the password in its preview', () => {
    const shown = previewOf({ ...emptyDraft(), password: 'sesame' });
    expect(shown.entry).toEqual({ password_required: true });
    expect(JSON.stringify(shown)).not.toContain('sesame');
  });
});
