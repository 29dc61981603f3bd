// Looks at every door of a running arena, as a stranger would: page, API,
// keys, stream. with-demo.sh runs it against a demo; ARENA_URL says where.
// Prints a line for each look; the first that fails ends it with 1.
import assert from 'node:assert/strict';

const base = process.env.ARENA_URL;
assert.ok(base, 'ARENA_URL is not set');

async function get(path, init = {}) {
  const reply = await fetch(new URL(path, base), { redirect: 'manual', signal: AbortSignal.timeout(10_000), ...init });
  return { status: reply.status, type: reply.headers.get('content-type') ?? '', text: await reply.text() };
}

async function json(path, status = 200) {
  const reply = await get(path);
  assert.equal(reply.status, status, `${path}: status ${reply.status}: ${reply.text.slice(0, 200)}`);
  assert.match(reply.type, /^application\/(json|problem\+json)/, `${path}: content type ${reply.type}`);
  return JSON.parse(reply.text);
}

async function look(what, check) {
  try {
    console.log(`ok    ${what}${(await check()) ?? ''}`);
  } catch (error) {
    console.error(`FAIL  ${what}: ${error.message}`);
    process.exit(1);
  }
}

await look('the process lives and can serve', async () => {
  for (const path of ['/healthz', '/readyz']) assert.equal((await get(path)).status, 200, path);
});

await look('it says its version', () => json('/version').then(() => ''));

await look('the page is the built one', async () => {
  const page = await get('/');
  assert.equal(page.status, 200);
  assert.match(page.type, /^text\/html/);
  assert.match(page.text, /<script[^>]+src=/, 'the page has no script: was it built?');
});

await look('public keys, and only those', async () => {
  const { keys } = await json('/.well-known/jwks.json');
  assert.ok(keys.length > 0, 'no key');
  for (const key of keys) {
    assert.ok(key.kid && key.alg, 'a key without kid or alg');
    for (const secret of ['d', 'p', 'q', 'k']) assert.ok(!(secret in key), `a key shows its member ${secret}`);
  }
});

await look('the API describes itself', async () => {
  const { openapi, paths } = await json('/v1/openapi.json');
  assert.match(openapi, /^3\.1/);
  assert.ok(paths['/v1/matches'], 'no /v1/matches');
});

await look('an unknown path of the API is a JSON problem', async () => {
  assert.equal((await json('/v1/nothing', 404)).code, 'not_found');
});

await look('metrics are not public', async () => {
  const reply = await get('/metrics');
  assert.ok(reply.status === 404 || !reply.text.includes('# HELP'), `status ${reply.status}`);
});

await look('an admin route wants a token', async () => {
  assert.equal((await get('/v1/leagues', { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } })).status, 401);
});

let agents;
await look('leagues and agents', async () => {
  const leagues = (await json('/v1/leagues')).items;
  agents = (await json('/v1/agents')).items;
  assert.ok(leagues.length > 0, 'no league');
  assert.ok(agents.length >= 8, `${agents.length} agents`);
  for (const agent of agents) assert.ok(!agent.endpoint, 'an endpoint is shown to everyone');
  return `: ${leagues.length} and ${agents.length}`;
});

await look('the lobby stream shows a live match', async () => {
  // Server-sent events: read until the first event of a match.
  const reply = await fetch(new URL('/v1/stream?lobby=1', base), {
    headers: { accept: 'text/event-stream' },
    signal: AbortSignal.timeout(30_000),
  });
  assert.equal(reply.status, 200);
  let text = '';
  for await (const chunk of reply.body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const match = text.match(/"match_id":"(m_[0-9a-z]+)"/);
    if (match) return `: ${match[1]}`;
  }
  throw new Error('the stream ended before a match was seen');
});

await look('a log without gaps', async () => {
  const [match] = (await json('/v1/matches')).items;
  const { items } = await json(`/v1/matches/${match.match_id}/events?since=0&limit=100`);
  assert.ok(items.length > 0, 'no events');
  items.forEach((event, i) => assert.equal(event.seq, i + 1, `seq ${event.seq} at place ${i + 1}`));
  return `: ${items.length} events`;
});
