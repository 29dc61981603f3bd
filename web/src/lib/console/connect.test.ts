import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Agent } from '$lib/api/contract';
import { connectionOf, curlOf, failureOf, installCommand, joinCommand, mcpCommand, mcpSettings, sampleOf } from './connect';

const ARENA = 'https://arena.example';
const KEY = 'arg_1';
const read = (path: string) => readFileSync(`../${path}`, 'utf8');

describe('the lines that connect an agent', () => {
  it('have the URL and the key', () => {
    expect(joinCommand(ARENA, KEY, 'program')).toBe(
      `arena join https://arena.example --key arg_1 --exec 'claude -p --tools "" --strict-mcp-config'`,
    );
    expect(installCommand(ARENA)).toBe('curl -fsSL https://arena.example/install.sh | sh && export PATH="$HOME/.local/bin:$PATH"');
    for (const page of ['README.md', 'docs/authors.md']) {
      expect(read(page)).toContain(`\n${installCommand('http://127.0.0.1:8080')}\narena join http://127.0.0.1:8080 --exec 'claude `);
    }
    expect(mcpCommand(ARENA, KEY)).toBe(
      'claude mcp add --transport http arena https://arena.example/mcp --header "Authorization: Bearer arg_1"',
    );
    expect(JSON.parse(mcpSettings(ARENA, KEY))).toEqual({
      mcpServers: { arena: { url: `${ARENA}/mcp`, headers: { Authorization: 'Bearer arg_1' } } },
    });
  });

  // The examples are run by the tests of the SDKs, the README's agent by those of the docs.
  it('are the examples of the SDKs, with literals for their environment', () => {
    const typescript = read('sdk/typescript/examples/connect.mjs')
      .replace(/const \{ ARENA.*\n\n/, '')
      .replace('ARENA, AGENT_KEY', `'${ARENA}', '${KEY}'`);
    expect(sampleOf('typescript', ARENA, KEY).code).toBe(typescript);
    const python = read('sdk/python/examples/connect.py')
      .replace('import os\n\n', '')
      .replace(/os\.environ\.get\("ARENA", .*?\), os\.environ\.get\("AGENT_KEY", ""\)/, `"${ARENA}", "${KEY}"`);
    expect(sampleOf('python', ARENA, KEY).code).toBe(python);
    const rust = read('sdk/rust/examples/connect.rs')
      .replace(/ {4}let (arena|key) = .*\n/g, '')
      .replace('&arena, &key', `"${ARENA}", "${KEY}"`);
    expect(sampleOf('rust', ARENA, KEY).code).toBe(rust);
    const page = /```go\n(.*?)```/s.exec(read('README.md'))![1]!;
    expect(sampleOf('go', ARENA, KEY).code).toBe(
      page.replace('\t"os"\n', '').replace('os.Getenv("ARENA")', `"${ARENA}"`).replace('os.Getenv("AGENT_KEY")', `"${KEY}"`),
    );
  });
});

describe('the connection of an agent', () => {
  const agent = (status: Agent['status'], health: Partial<Agent['health']>, pause?: NonNullable<Agent['pause']>['reason']) => ({
    status,
    ...(pause ? { pause: { reason: pause, since: '' } } : {}),
    health: { ok: false, capabilities: [], latency_ms: 0, max_concurrent: 1, checked_at: '2026-11-01T00:00:00.000Z', ...health },
  });
  it.each([
    ['a new agent', agent('pending', { checked_at: '' }), 'waiting', ''],
    ['one that was checked before it came', agent('pending', { reason: 'not_polling' }), 'waiting', ''],
    ['one that is there', agent('active', { ok: true }), 'connected', ''],
    ['one that has gone', agent('paused', { reason: 'not_polling' }, 'health'), 'lost', 'not_polling'],
    ['one that failed once', agent('active', { reason: 'status_500' }), 'lost', 'status_500'],
    ['an endpoint that never passed', agent('pending', { reason: 'refused' }), 'lost', 'refused'],
    ['one that its owner paused', agent('paused', { reason: 'not_polling' }, 'owner'), 'lost', ''],
    ['one that fails round after round', agent('paused', { ok: true }, 'failing'), 'connected', 'failing'],
    ['a retired one', agent('retired', { reason: 'refused' }), 'lost', ''],
  ] as const)('%s', (_, a, connection, failure) => {
    expect(connectionOf(a)).toBe(connection);
    expect(failureOf(a)).toBe(failure);
  });
});

it('an entry of the log as a command is safe in a shell', () => {
  expect(curlOf('https://a.example/x', `{"q": "it's $(rm) \`x\`"}`)).toBe(
    `curl -i \\\n  'https://a.example/x' \\\n  -H 'Content-Type: application/json' \\\n  -H "Authorization: Bearer $TASK_TOKEN" \\\n  --data-raw '{"q": "it'\\''s $(rm) \`x\`"}'`,
  );
});
