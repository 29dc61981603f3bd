// What an organizer is offered, and how a pack is edited, in headless Chromium:
//
//   scripts/browser-test.sh organizer.spec.mjs
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { demo } from './kit/arena.mjs';
import { ADMIN, api, counted, id, mapAll, once, open, ORIGIN, PATIENCE, SCREENS, send, unfold, until } from './kit/kit.mjs';

await demo();
const KEPT = { 'arena.admin': ADMIN };
const text = (page, name) => page.locator(id(name)).textContent();
const task = (q, a) => JSON.stringify({ description: q, answer: a });

test('an organizer is offered its leagues alone, a moderator the agents', { timeout: PATIENCE }, async () => {
  const token = async (scope, leagues) =>
    (await (await send('POST', '/v1/admin/tokens', { name: scope, scope, ...(leagues ? { leagues } : {}) })).json()).token;
  const slug = `desk-${once()}`;
  const body = { slug, title: slug, generator: { name: 'arithmetic' }, judge: 'number', rounds: 1, time_limit_seconds: 5, rated: false };
  assert.equal((await send('POST', '/v1/leagues', body)).status, 201);
  const organizer = await token('organizer', [slug]);
  const { page, faults, close } = await open('/admin', { refusals: true });
  const enter = async (secret) => {
    await page.locator(`${id('admin-door')} [name="token"]`).fill(secret);
    await page.locator(`${id('admin-door')} button`).click();
  };
  const pages = () => mapAll(page, '.console nav a', (a) => a.getAttribute('href'));
  await enter(await token('moderator'));
  await page.locator('.console nav a[href="/admin/agents"]').waitFor();
  assert.deepEqual(await pages(), ['/admin/agents']);
  await page.locator(id('sign-out')).click();
  const calls = [];
  page.on('request', (r) => calls.push(new URL(r.url()).pathname));
  await enter(organizer);
  const row = page.locator(`${id('admin-league')}[data-league="${slug}"]`);
  await row.waitFor();
  assert.match(await text(page, 'organizer-of'), new RegExp(slug));
  assert.deepEqual(await mapAll(page, id('admin-league'), (l) => l.dataset.league), [slug]);
  assert.deepEqual(await pages(), ['/admin/leagues', '/admin/calendar', '/admin/matches']);
  assert.deepEqual(await Promise.all(['league-copy', 'league-delete'].map((name) => row.locator(id(name)).count())), [0, 0]);
  await counted(page.locator('a[href="/admin/leagues/new"], [data-testid="status-line"]'), 0);
  if (SCREENS) await page.screenshot({ path: `${SCREENS}/admin-organizer-1440-dark.png` });

  await row.locator(id('move-start')).click();
  await row.locator(id('move-pause')).waitFor();
  await row.locator(id('league-edit')).click();
  await page.locator(`${id('league-form')} [name="description"]`).fill('From the desk.');
  await unfold(page, 'tasks');
  await page.locator(id('league-save')).click();
  await row.waitFor();
  assert.equal((await api(`/v1/leagues/${slug}`)).description, 'From the desk.');
  await page.locator('.console nav a[href="/admin/matches"]').click();
  await page.locator(`${id('schedule')} option[value="${slug}"]`).waitFor({ state: 'attached' });
  assert.deepEqual(await mapAll(page, `${id('schedule')} [name="league"] option`, (o) => o.value), [slug]);
  await counted(page.locator(id('open-match')), 0);
  await until('season of the league', async () => (await api(`/v1/leagues/${slug}/seasons`)).items.length > 0);
  await page.goto(`${ORIGIN}/admin/calendar`);
  await page.locator(id('calendar-item')).first().waitFor();
  assert.deepEqual([...new Set(await mapAll(page, id('calendar-item'), (i) => i.dataset.league))], [slug]);
  for (const path of [
    'packs',
    'owners',
    'tokens',
    'audit',
    'agents',
    'leagues/new',
    'leagues/new/quiz',
    `leagues/${slug}/copy`,
    'leagues/trivia/edit',
  ]) {
    await page.goto(`${ORIGIN}/admin/${path}`);
    await page.locator('main h1').waitFor();
    await counted(page.locator('main form, main button:not([data-testid="sign-out"])'), 0, path);
  }
  const refused = calls.filter((path) => /^\/v1\/(packs|admin\/(status|tokens|owners|audit))/.test(path));
  assert.deepEqual(refused, []);
  const as = (method, path, sent) =>
    fetch(new URL(path, ORIGIN), {
      method,
      headers: { authorization: `Bearer ${organizer}`, 'content-type': 'application/json' },
      body: sent && JSON.stringify(sent),
    });
  for (const [method, path, sent] of [
    ['GET', '/v1/packs'],
    ['POST', '/v1/leagues', body],
    ['DELETE', `/v1/leagues/${slug}`],
    ['PATCH', '/v1/leagues/trivia', { title: 'Mine' }],
    ['POST', '/v1/leagues/trivia/pause'],
    ['GET', '/v1/admin/status'],
  ]) {
    assert.equal((await as(method, path, sent)).status, 403, `${method} ${path}`);
  }
  await send('POST', `/v1/leagues/${slug}/finish`);
  assert.deepEqual(faults, []);
  await close();
});

test('a question is edited and its pack renamed', { timeout: PATIENCE }, async () => {
  const name = `typo-${once()}`;
  const lines = [task('Won?', '1'), JSON.stringify({ description: 'Two?', answer: 'b', options: ['a', 'b'] })].join('\n');
  const made = await fetch(new URL(`/v1/packs?format=jsonl&name=${name}`, ORIGIN), {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN}`, 'content-type': 'text/plain' },
    body: lines,
  });
  const { pack_id: pack } = await made.json();
  const { page, faults, close } = await open(`/admin/packs/${pack}`, { kept: KEPT, refusals: true });
  const question = (n, replaced) => page.locator(`${id('question')}[data-n="${n}"][data-replaced="${replaced}"]`);
  const field = (key) => page.locator(`${id('question-form')} [name="${key}"]`);
  await question(1, false).locator(id('question-edit')).click();
  await field('answer').fill('c');
  await page.locator(id('question-save')).click();
  await page.locator(`${id('field-error')}[data-field="answer"]`, { hasText: 'not among the options' }).waitFor();
  await field('options').fill('a\nb\nc');
  await field('topic').fill('letters');
  if (SCREENS) await page.screenshot({ path: `${SCREENS}/admin-question-1440-dark.png` });
  await page.locator(id('question-save')).click();
  await question(1, true).waitFor();
  await question(2, false).locator(id('question-edit')).waitFor();
  await counted(question(1, true).locator(id('question-edit')), 0);
  await page.locator(id('pack-rename')).click();
  await page.locator(`${id('pack-name-form')} [name="name"]`).fill(`${name} <b>`);
  await page.locator(`${id('pack-name-form')} .main`).click();
  await page.locator('h1', { hasText: `${name} <b>` }).waitFor();
  await page.reload();
  await question(2, false).waitFor();
  const { items } = await (await send('GET', `/v1/packs/${pack}/tasks`)).json();
  assert.deepEqual(
    items.map((q) => [q.n, q.answer, q.topic, q.replaced_by]),
    [
      [0, ['1'], undefined, undefined],
      [1, ['b'], undefined, 2],
      [2, ['c'], 'letters', undefined],
    ],
  );
  assert.deepEqual(faults, []);
  await close();
});

test('an admin ticks the leagues of an organizer', async () => {
  const { page, faults, close } = await open('/admin/tokens', { kept: { 'arena.admin': ADMIN } });
  const form = page.locator(id('make-admin-token'));
  await form.locator('[name="name"]').fill(`night shift ${once()}`);
  await form.locator('[name="scope"]').selectOption('organizer');
  await form.locator(`${id('league-picker')} [value="trivia"]`).check();
  await form.locator('button').click();
  await page
    .locator(`${id('admin-token')}[data-scope="organizer"]`, { hasText: /night shift .*trivia/s })
    .first()
    .waitFor();
  assert.deepEqual(faults, []);
  await close();
});
