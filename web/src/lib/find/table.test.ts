import { describe, expect, it } from 'vitest';
import type { Standing } from '../api/contract';
import { choices, filtersOf, needs, ordered, orderOf, pressed, resultsLink, resultsOf, scaleOf, tableLink, type Column } from './table';

const line = (name: string, rating: number, rank: number | undefined, wins: number, losses: number) =>
  ({ agent_id: name, name, rating, rank, wins, draws: 0, losses, rated_matches: wins + losses }) as Standing;
const table = [
  line('Ada', 1600, 1, 9, 1),
  line('Bob', 1500, 2, 5, 5),
  line('Cy', 1400, 3, 1, 2),
  line('New', 1550, undefined, 2, 0),
  line('Low', 1300, undefined, 0, 1),
];
const none = filtersOf(new URLSearchParams());
const names = (sort: string, q = '') =>
  ordered(table, orderOf(new URLSearchParams({ sort })), { ...none, q })
    .map((s) => s.name)
    .join(' ');

describe('a table of ratings', () => {
  it.each<[string, string]>([
    ['', 'Ada New Bob Cy Low'],
    ['nonsense', 'Ada New Bob Cy Low'],
    ['-rank', 'Low Cy Bob New Ada'],
    ['agent', 'Ada Bob Cy Low New'],
    ['-agent', 'New Low Cy Bob Ada'],
    ['rating', 'Ada New Bob Cy Low'],
    ['-rating', 'Low Cy Bob New Ada'],
    ['record', 'New Ada Bob Cy Low'],
    ['matches', 'Ada Bob Cy New Low'],
  ])('sorted by %s', (sort, want) => expect(names(sort)).toBe(want));

  it('is in the order of tiers where agents were tested, whatever their rank', () => {
    const tested = [{ ...table[0]!, tier: 2 }, { ...table[1]!, tier: 1 }, { ...table[4]!, tier: 1 }, table[2]!, table[3]!] as Standing[];
    expect(ordered(tested, orderOf(new URLSearchParams()), none).map((s) => s.name)).toEqual(['Bob', 'Low', 'Ada', 'New', 'Cy']);
  });

  it('has a scale for the intervals of those that were tested', () => {
    const fit = { rating: 1500, low: 1450, high: 1550, rank_low: 1, rank_high: 2, island: 1 };
    expect(scaleOf(table)).toBeUndefined();
    expect(
      scaleOf([
        { ...table[0]!, tier: 1, fit },
        { ...table[1]!, tier: 1, fit: { ...fit, low: 1300 } },
        { ...table[2]!, fit: { ...fit, low: 0 } },
      ]),
    ).toEqual({
      low: 1300,
      high: 1550,
    });
  });

  it('is filtered by a part of the name', () => expect(names('', 'b')).toBe('Bob'));

  const who = [
    { ...table[0]!, owner_id: 'ow_1', owner_name: 'Zoe', protocol: 'aap', model: 'gpt-4.1-mini', provisional: false },
    { ...table[1]!, owner_id: 'ow_2', owner_name: 'Ann', protocol: 'aap', pull: true, provisional: true },
    { ...table[2]!, owner_id: 'ow_1', owner_name: 'Zoe', protocol: 'a2a', model: 'LangGraph', provisional: true },
  ] as Standing[];
  it.each<[string, string]>([
    ['', 'Ada Bob Cy'],
    ['owner=ow_1', 'Ada Cy'],
    ['protocol=aap', 'Ada'],
    ['protocol=pull', 'Bob'],
    ['model=LangGraph', 'Cy'],
    ['rating=established', 'Ada'],
    ['rating=provisional', 'Bob Cy'],
    ['rating=nonsense', 'Ada Bob Cy'],
    ['owner=ow_1&rating=provisional&q=+C+', 'Cy'],
    ['owner=ow_none', ''],
  ])('is filtered by %s', (address, want) =>
    expect(
      ordered(who, orderOf(new URLSearchParams()), filtersOf(new URLSearchParams(address)))
        .map((s) => s.name)
        .join(' '),
    ).toBe(want),
  );

  it('knows the values of its filters, by their labels', () => {
    const found = choices(who);
    expect([...found.owner]).toEqual([
      ['ow_2', 'Ann'],
      ['ow_1', 'Zoe'],
    ]);
    expect([...found.model.keys()]).toEqual(['gpt-4.1-mini', 'LangGraph']);
    expect([...found.protocol.keys()]).toEqual(['a2a', 'aap', 'pull']);
  });

  it.each([
    [
      { rated_matches: 4, opponent_groups: 0 },
      { of: 'matches', n: 6 },
    ],
    [
      { rated_matches: 12, opponent_groups: 4 },
      { of: 'opponents', n: 1 },
    ],
    [{ rated_matches: 12, opponent_groups: 5 }, { of: 'recent' }],
    [
      { rated_matches: 12, opponent_groups: 5, rank: 3, provisional: true },
      { of: 'established', n: 18 },
    ],
    [{ rated_matches: 30, opponent_groups: 5, rank: 3, provisional: false }, undefined],
    [{ rated_matches: 4, opponent_groups: 0, built_in: true }, undefined],
  ])('%o needs %o', (line, want) => expect(needs(line as Standing)).toEqual(want));

  it('keeps order and filter in the address', () => {
    const query = new URLSearchParams('view=ratings&sort=agent&q=b');
    const press = (column: Column) => tableLink('/l/x', query, { order: pressed(orderOf(query), column) });
    expect(press('agent')).toBe('/l/x?view=ratings&sort=-agent&q=b');
    expect(press('rating')).toBe('/l/x?view=ratings&sort=rating&q=b');
    expect(press('rank')).toBe('/l/x?view=ratings&q=b');
    expect(tableLink('/l/x', query, { filters: { q: '' } })).toBe('/l/x?view=ratings&sort=agent');
    expect(tableLink('/l/x', new URLSearchParams(), { filters: { q: 'a' } })).toBe('/l/x?q=a');
    expect(tableLink('/l/x', new URLSearchParams('q=a&owner=ow_1'), { filters: { q: '' } })).toBe('/l/x?owner=ow_1');
  });

  it('counts all games, or those that were played out, as the address says', () => {
    const score = (wins: number, losses: number) => ({ games: wins + losses, wins, draws: 0, losses, points: wins });
    const games = [
      { ...line('Ada', 1600, 1, 9, 1), games: { all: score(8, 2), played_out: score(1, 2) } },
      { ...line('Bob', 1500, 2, 5, 5), games: { all: score(5, 5), played_out: score(5, 1) } },
      line('New', 1400, undefined, 0, 0),
    ] as Standing[];
    const order = (address: string) => {
      const query = new URLSearchParams(address);
      return ordered(games, orderOf(query), none, resultsOf(query))
        .map((s) => s.name)
        .join(' ');
    };
    expect([
      order(''),
      order('sort=record'),
      order('results=played_out'),
      order('results=played_out&sort=rank'),
      order('results=none'),
    ]).toEqual(['Ada Bob New', 'Ada Bob New', 'Bob Ada New', 'Ada Bob New', 'Ada Bob New']);
    const query = new URLSearchParams('view=ratings&sort=agent');
    expect([resultsLink('/l/x', query, 'played_out'), resultsLink('/l/x', new URLSearchParams('results=played_out'), 'all')]).toEqual([
      '/l/x?view=ratings&results=played_out',
      '/l/x',
    ]);
    const press = (column: Column) =>
      tableLink('/l/x', new URLSearchParams('results=played_out'), {
        order: pressed(orderOf(new URLSearchParams('results=played_out')), column),
      });
    expect([press('rank'), press('score')]).toEqual(['/l/x?results=played_out&sort=rank', '/l/x?results=played_out&sort=-score']);
  });
});
