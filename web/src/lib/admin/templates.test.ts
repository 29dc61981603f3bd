import { describe, expect, it } from 'vitest';
import { bodyOf, changed, emptyDraft, visibilitiesOf } from './draft';
import { applying, FIELDS, PATHS, pathOf, SECTIONS } from './fields';
import { TEMPLATE_NAMES, templateDraft, TEMPLATES } from './templates';

describe('a template', () => {
  it.each(TEMPLATE_NAMES)('%s shows fields that apply, with values in their ranges', (name) => {
    const d = templateDraft(name);
    expect(applying(d, false, TEMPLATES[name].fields)).toEqual(TEMPLATES[name].fields);
    for (const { number } of applying(d, false).map((f) => FIELDS[f])) {
      if (!number) continue;
      const [min, max] = [number.min, number.max].map((n) => (typeof n === 'function' ? n(d) : n));
      expect(d[number.key], number.key).toBeGreaterThanOrEqual(min!);
      expect(d[number.key], number.key).toBeLessThanOrEqual(max!);
    }
    expect(visibilitiesOf(d)).toContain(d.visibility);
  });
  it.each([
    ['quiz', { slug: 'friday-quiz', format: 'elimination', rounds: null, max_rounds: 20, min_seats: 3, judge: { kind: 'number' } }],
    ['debate', { slug: 'debate-night', format: 'swiss', debate: { turns: 2 }, visibility: 'sealed', rated: false }],
    [
      'ladder',
      {
        slug: 'game-ladder',
        format: 'ladder',
        game: { name: 'connect_four', games_per_match: 2 },
        time_limit_seconds: 10,
        built_in: ['random', 'greedy', 'search'],
      },
    ],
    ['class', { slug: 'class-tournament', format: 'swiss', rounds: 5, entry: { agents_per_owner: 1 } }],
  ] as const)('%s makes its league', (name, body) => expect(bodyOf(templateDraft(name))).toMatchObject(body));
  it('on a day of the week starts in the evening of the reader', () =>
    expect(['quiz', 'debate'].map((n) => bodyOf(templateDraft(n as 'quiz')).schedule)).toEqual([
      expect.stringMatching(/0 20 \* \* 5$/),
      expect.stringMatching(/0 20 \* \* 4$/),
    ]));
});

describe('the fields of a league', () => {
  it('are in a section each, and a problem finds them', () => {
    expect(new Set(Object.values(FIELDS).map((f) => f.section))).toEqual(new Set(SECTIONS));
    expect(PATHS).toEqual(expect.arrayContaining(['slug', 'judge.agents', 'format_options.rounds', 'entry.allow']));
    expect(pathOf('delay')).toBe('visibility');
  });
  it('are of what is played alone', () => {
    const asked = applying(changed(emptyDraft(), { plays: 'game' }), false);
    for (const name of ['judge', 'source', 'pack_id', 'rounds', 'max_rounds', 'open_end', 'canary', 'score_mode', 'turns'])
      expect(asked).not.toContain(name);
    expect(applying(emptyDraft(), false)).not.toContain('game');
  });
  it('of a league that is there leave out what it keeps', () => {
    const kept = ['slug', 'plays', 'format'];
    expect(applying(emptyDraft(), false)).toEqual(expect.arrayContaining(kept));
    for (const name of kept) expect(applying(emptyDraft(), true)).not.toContain(name);
  });
});
