import { describe, expect, it } from 'vitest';
import type { Standing } from '../api/contract';
import { ordered, orderOf, pressed, tableLink, type Column } from './table';

const line = (name: string, rating: number, rank: number | undefined, wins: number, losses: number) =>
  ({ agent_id: name, name, rating, rank, wins, draws: 0, losses, rated_matches: wins + losses }) as Standing;
const table = [line('Ada', 1600, 1, 9, 1), line('Bob', 1500, 2, 5, 5), line('Cy', 1400, 3, 1, 2), line('New', 1550, undefined, 2, 0), line('Low', 1300, undefined, 0, 1)];
const names = (sort: string, text?: string) => ordered(table, orderOf(new URLSearchParams({ sort })), text).map((s) => s.name).join(' ');

describe('a table of ratings', () => {
  it.each<[string, string]>([
    ['', 'Ada New Bob Cy Low'], ['nonsense', 'Ada New Bob Cy Low'], ['-rank', 'Low Cy Bob New Ada'],
    ['agent', 'Ada Bob Cy Low New'], ['-agent', 'New Low Cy Bob Ada'], ['rating', 'Ada New Bob Cy Low'], ['-rating', 'Low Cy Bob New Ada'],
    ['record', 'New Ada Bob Cy Low'], ['matches', 'Ada Bob Cy New Low'],
  ])('sorted by %s', (sort, want) => expect(names(sort)).toBe(want));

  it('is filtered by a part of the name', () => expect(names('', ' b')).toBe('Bob'));

  it('keeps order and filter in the address', () => {
    const query = new URLSearchParams('view=ratings&sort=agent&q=b');
    const press = (column: Column) => tableLink('/l/x', query, { order: pressed(orderOf(query), column) });
    expect(press('agent')).toBe('/l/x?view=ratings&sort=-agent&q=b');
    expect(press('rating')).toBe('/l/x?view=ratings&sort=rating&q=b');
    expect(press('rank')).toBe('/l/x?view=ratings&q=b');
    expect(tableLink('/l/x', query, { text: '' })).toBe('/l/x?view=ratings&sort=agent');
    expect(tableLink('/l/x', new URLSearchParams(), { text: 'a' })).toBe('/l/x?q=a');
    expect(tableLink('/l/x', new URLSearchParams('q=a'), { text: '' })).toBe('/l/x');
  });
});
