// One walk through everything on a live demo, and what only the real server
// decides: statuses, frames, previews, bytes of the API.
//
//   scripts/browser-test.sh walk.spec.mjs
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer, get } from 'node:http';
import { test } from 'node:test';
import { demo } from './kit/arena.mjs';
import { ADMIN, api, counted, grave, id, open, ORIGIN, PATIENCE, until } from './kit/kit.mjs';

await demo(12);
const BUDGETS = JSON.parse(readFileSync(new URL('../../budgets.json', import.meta.url), 'utf8'));
const plain = (await api('/v1/leagues')).items.filter((l) => !l.debate && !l.game).map((l) => l.slug);
const duels = async (status) =>
  (await api(`/v1/matches?status=${status}&limit=100`)).items.filter((m) => m.seats.length === 2 && plain.includes(m.league));

test('a spectator follows a live duel to its result, and walks through every page', { timeout: 2 * PATIENCE }, async () => {
  const { page, faults, go, settled, close } = await open('/');
  await page.locator(`${id('lobby')}[data-ready="true"]`).waitFor();
  const duel = await until('live duel', async () => (await duels('running'))[0], PATIENCE);
  await go(`/m/${duel.match_id}`);
  await page.locator(`${id('match')}[data-ready="true"]`).waitFor();
  await page
    .locator(`${id('match-status')}[data-status="finished"], ${id('match-status')}[data-status="void"]`)
    .waitFor({ timeout: PATIENCE });
  const { seq } = await api(`/v1/matches/${duel.match_id}`);
  await page.locator(`${id('match')}[data-seq="${seq}"]`).waitFor();
  const file = encodeURIComponent(`/v1/matches/${duel.match_id}/events?limit=1000`);
  for (const [path, ready] of [
    [`/replay?file=${file}`, id('replay')],
    [`/embed/matches/${duel.match_id}`, id('embed')],
    ['/matches', id('match-line')],
    ['/schedule', `${id('schedule')}[aria-busy="false"]`],
    ['/recap', `${id('recap')}[aria-busy="false"]`],
    [`/compare?agents=${duel.seats.map((s) => s.agent_id)}`, id('head-to-head')],
    ['/leagues', id('league-link')],
    ...(await api('/v1/leagues')).items.map((l) => [`/l/${l.slug}`, `${id('league')}[aria-busy="false"]`]),
    ['/leaderboard', id('leaderboard')],
    [`/a/${duel.seats[0].agent_id}`, `${id('agent')}[aria-busy="false"]`],
    ['/docs', 'article'],
    ['/tv', `${id('tv-match')}[data-ready="true"], ${id('tv-idle')}`],
    ['/console', id('door')],
    ['/admin', id('admin-door')],
  ]) {
    await go(path);
    await settled(ready);
    if (path === '/docs') assert.deepEqual(await grave(page), [], path);
    assert.deepEqual(faults, [], path);
  }
  await page.locator(`${id('admin-door')} [name="token"]`).fill(ADMIN);
  await page.keyboard.press('Enter');
  await page.locator(id('nodes')).waitFor();
  assert.deepEqual(faults, []);
  await close();
});

test('an address that does not exist answers 404 with the page', async () => {
  const { page, close } = await open('', { refusals: true });
  for (const address of ['/nonsense', '/a/ag_none', '/l/none', '/m/m_none']) {
    const answer = await page.goto(ORIGIN + address);
    assert.equal(answer.status(), 404, address);
    await page.locator(`${id('notice')}[data-kind="missing"]`).waitFor();
  }
  for (const address of ['/', '/matches?status=void', '/schedule', '/compare', '/console', '/admin/x']) {
    assert.equal((await fetch(ORIGIN + address)).status, 200, address);
  }
  await close();
});

test('a page brings along what it reads first, as the API answers it', async () => {
  const match = await until('duel', async () => (await duels('finished'))[0], PATIENCE);
  const league = `/v1/leagues/${match.league}`;
  for (const [path, reads] of [
    ['/', ['/v1/lobby', '/v1/marks']],
    [`/m/${match.match_id}`, [`/v1/matches/${match.match_id}`, league, '/v1/marks']],
    [`/embed/matches/${match.match_id}`, [`/v1/matches/${match.match_id}`, league, '/v1/marks']],
    [`/l/${match.league}`, [league, `${league}/standings`, `${league}/seasons`, '/v1/marks']],
    ['/schedule', ['/v1/leagues', '/v1/matches?status=ready%2Cscheduled&order=soonest&limit=40', '/v1/marks']],
    ['/recap', ['/v1/recap', '/v1/leagues', '/v1/marks']],
    ['/recap/2026-11-20', ['/v1/recap?day=2026-11-20', '/v1/leagues', '/v1/marks']],
    ['/console', []],
  ]) {
    const page = await fetch(ORIGIN + path, { headers: { authorization: `Bearer ${ADMIN}` } });
    const [, block] = /<script type="application\/json" id="first">(.*)<\/script>/.exec(await page.text()) ?? [];
    const { answers } = JSON.parse(block ?? '{"answers":{}}');
    assert.deepEqual(Object.keys(answers).sort(), reads.toSorted(), path);
    if (reads[0]?.includes('/matches/')) assert.deepEqual(answers[reads[0]], await api(reads[0]));
  }
});

test('the lobby is read in few bytes', async (t) => {
  const bytes = await new Promise((done, fail) =>
    get(`${ORIGIN}/v1/lobby`, { headers: { 'accept-encoding': 'br, gzip' } }, async (res) => {
      let sum = 0;
      for await (const part of res) sum += part.length;
      done(sum);
    }).on('error', fail),
  );
  t.diagnostic(`lobby: ${bytes} bytes`);
  assert.ok(bytes <= BUDGETS.lobby_json_bytes, `${bytes} bytes, budget ${BUDGETS.lobby_json_bytes}`);
});

test('the stage stands in a frame of another site, and nothing else does', { timeout: PATIENCE }, async (t) => {
  const match = await until('finished duel', async () => (await duels('finished'))[0], PATIENCE);
  const site = createServer((req, res) => {
    res.setHeader('Content-Type', 'text/html');
    res.end(
      `<!doctype html><title>elsewhere</title><iframe name="f" width="640" height="400" src="${ORIGIN}${decodeURIComponent(req.url.slice(1))}"></iframe>`,
    );
  });
  await new Promise((r) => site.listen(0, '127.0.0.1', r));
  t.after(() => site.close());
  const origin = `http://localhost:${site.address().port}`; // another site than 127.0.0.1
  const { page, faults, close } = await open(`/${encodeURIComponent(`/embed/matches/${match.match_id}`)}`, { origin });
  const frame = page.frameLocator('iframe');
  await frame.locator(id('embed')).waitFor();
  await frame.locator(id('result')).waitFor();
  await counted(frame.locator('header nav'), 0);
  assert.deepEqual(
    faults.filter((f) => !f.startsWith(`foreign request: ${ORIGIN}`)),
    [],
  );
  // A link leads out of the frame.
  const [tab] = await Promise.all([page.context().waitForEvent('page'), frame.locator(id('watch')).click()]);
  await tab.waitForURL(`${ORIGIN}/m/${match.match_id}`);
  await frame.locator(id('embed')).waitFor();
  await close();

  for (const path of [`/m/${match.match_id}`, '/console', '/']) {
    const refused = await open(`/${encodeURIComponent(path)}`, { origin });
    await until('refusal', () => refused.faults.some((f) => f.includes('frame-ancestors')));
    await counted(refused.page.frameLocator('iframe').locator('#app'), 0);
    await refused.close();
  }
});

test('a link to a match brings its picture and its words', { timeout: PATIENCE }, async () => {
  const match = await until('finished duel', async () => (await duels('finished'))[0], PATIENCE);
  const page = await (await fetch(`${ORIGIN}/m/${match.match_id}`)).text();
  const image = /<meta property="og:image" content="([^"]+)"/.exec(page)?.[1];
  assert.ok(image?.endsWith(`/v1/matches/${match.match_id}/card.png`), image);
  assert.match(page, /<meta property="og:title" content="[^"<>]+ v [^"<>]+"/);
  const card = await fetch(`${ORIGIN}${new URL(image).pathname}`);
  assert.equal(card.headers.get('content-type'), 'image/png');
  assert.deepEqual([...new Uint8Array(await card.arrayBuffer()).slice(1, 4)], [...Buffer.from('PNG')]);
  assert.equal((await (await fetch(`${ORIGIN}/leagues`)).text()).includes('og:image'), false);
});
