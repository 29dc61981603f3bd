import { describe, expect, it } from 'vitest';
import { place } from './problem';

const problem = (code: string, message: string, fields: { field: string; message: string }[] = []) => ({ code, message, fields });

describe('a problem at the fields of a form', () => {
  it('goes where it is named', () => {
    const error = problem('invalid', 'validation failed', [
      { field: 'name', message: 'is required' },
      { field: 'endpoint', message: 'is required' },
    ]);
    expect(place(error, ['name', 'endpoint'])).toEqual({ fields: { name: 'is required', endpoint: 'is required' }, rest: [] });
  });
  it('of a list entry belongs to the list', () => {
    const error = problem('invalid', '', [
      { field: 'leagues[0]', message: 'one' },
      { field: 'leagues[3]', message: 'two' },
    ]);
    expect(place(error, ['leagues'])).toEqual({ fields: { leagues: 'one; two' }, rest: [] });
  });
  it('of a member goes to the member, else to what it belongs to', () => {
    const error = problem('invalid', '', [
      { field: 'judge.agents[1]', message: 'twice' },
      { field: 'judge.kind', message: 'none' },
      { field: 'format_options.double', message: 'no' },
    ]);
    expect(place(error, ['judge', 'judge.agents'])).toEqual({
      fields: { 'judge.agents': 'twice', judge: 'none' },
      rest: ['format_options.double: no'],
    });
  });
  it('is not lost when the form has no such field', () => {
    const error = problem('invalid', '', [
      { field: 'public_key', message: 'is too long' },
      { field: 'name', message: 'is required' },
    ]);
    expect(place(error, ['name'])).toEqual({ fields: { name: 'is required' }, rest: ['public_key: is too long'] });
  });
  it('without fields goes by its code', () => {
    expect(place(problem('name_taken', 'taken'), ['name'])).toEqual({ fields: { name: 'taken' }, rest: [] });
    expect(place(problem('name_taken', 'taken'), ['title', 'slug'])).toEqual({ fields: { slug: 'taken' }, rest: [] });
    expect(place(problem('endpoint_blocked', 'private'), ['endpoint'])).toEqual({ fields: { endpoint: 'private' }, rest: [] });
    expect(place(problem('endpoint_blocked', 'private'), ['name'])).toEqual({ fields: {}, rest: ['private'] });
  });
  it('without field and code stands above the form', () => {
    expect(place(problem('conflict', 'an owner may have 3 agents'), ['name'])).toEqual({
      fields: {},
      rest: ['an owner may have 3 agents'],
    });
  });
});
