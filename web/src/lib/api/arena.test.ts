import { afterEach, expect, it, vi } from 'vitest';
import { standings } from './arena';

afterEach(() => vi.unstubAllGlobals());

it('reads a table that comes in parts', async () => {
  const parts: Record<string, unknown> = {
    '/v1/leagues/a/standings': { items: [{ agent_id: 'ag_1' }], next_cursor: 'x', frozen: false },
    '/v1/leagues/a/standings?cursor=x': { items: [{ agent_id: 'ag_2' }], next_cursor: '' },
  };
  vi.stubGlobal('fetch', async (url: string) => Response.json(parts[url.replace(/^.*(?=\/v1)/, '')]));
  const table = await standings('a');
  expect(table.items.map((s) => s.agent_id)).toEqual(['ag_1', 'ag_2']);
  expect(table.frozen).toBe(false);
});
