// Types and chooses in the forms of the admin console, in headless Chromium:
//
//   scripts/browser-test.sh admin-forms.spec.mjs
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { demo } from './kit/arena.mjs';
import { ADMIN, api, checkPages, heldDuel, id, mapAll, once, open, pair, PATIENCE, send, unfold } from './kit/kit.mjs';

await demo();
const KEPT = { 'arena.admin': ADMIN };

test('a table whose header has empty and repeated names is mapped by the others', { timeout: PATIENCE }, async () => {
  const { page, faults, close } = await open('/admin/packs', { kept: KEPT });
  const table = [',question,answer,question', '0,One?,1,Uno?', '1,Two?,2,Dos?'].join('\n');
  await page
    .locator(`${id('upload')} [type="file"]`)
    .setInputFiles({ name: `${once()}.csv`, mimeType: 'text/csv', buffer: Buffer.from(table) });
  await page.locator(`${id('pack-map')} [name="map_description"]`).waitFor();
  for (const name of ['map_description', 'map_answer', 'map_topic']) {
    assert.deepEqual(
      await mapAll(page, `${id('pack-map')} [name="${name}"] option`, (o) => o.value),
      ['', 'column 1', 'question', 'answer'],
      name,
    );
  }
  assert.deepEqual(await mapAll(page, `${id('pack-map')} [name="map_options"]`, (o) => o.value), ['column 1', 'question', 'answer']);
  assert.deepEqual(faults, []);
  await close();
});

test('a fraction is typed key by key, and a field for a number may be empty meanwhile', { timeout: PATIENCE }, async () => {
  const { page, faults, close } = await open('/admin/leagues/new/class', { kept: KEPT });
  const slug = `fractions-${once()}`;
  const form = page.locator(id('league-form'));
  const save = page.locator(id('league-save'));
  await form.locator('[name="title"]').fill(slug);
  await unfold(page, 'play');
  const cost = form.locator('[name="max_cost_usd"]');
  await cost.fill('');
  assert.equal(await cost.inputValue(), '');
  await cost.pressSequentially('0.05');
  assert.equal(await cost.inputValue(), '0.05');
  const rounds = form.locator('[name="rounds"]');
  await rounds.fill('');
  await save.click(); // the browser refuses an empty field
  await form.locator('[name="rounds"]:focus').waitFor();
  await rounds.pressSequentially('12');
  await save.click();
  await page.locator(`${id('admin-league')}[data-league="${slug}"]`).waitFor();
  const made = await api(`/v1/leagues/${slug}`);
  assert.deepEqual([made.max_cost_usd, made.rounds], [0.05, 12]);
  assert.deepEqual(faults, []);
  await close();
});

test('a league of each template is made by its card and one button, and is what its preview showed', { timeout: PATIENCE }, async () => {
  const { page, faults, close, go } = await open('/admin/leagues', { kept: KEPT });
  const motions = (await (await send('GET', '/v1/packs')).json()).items.find((p) => p.name === 'motions');
  const rulesIn = (part) => page.locator(`${part} ${id('rules')} li`).allTextContents();
  const names = { quiz: 'friday-quiz', debate: 'debate-night', ladder: 'game-ladder', class: 'class-tournament' };
  for (const [name, slug] of Object.entries(names)) {
    await page.locator('a[href="/admin/leagues/new"]').click();
    await page.locator(id(`template-${name}`)).click();
    await page.locator(id('league-form')).waitFor();
    if (name === 'debate') await page.locator('[name="pack_id"]').selectOption(motions.pack_id);
    const shown = [await rulesIn(id('preview')), await page.locator(`${id('preview')} .facts`).textContent()];
    const sections = await mapAll(page, `${id('league-form')} details`, (s) => s.open);
    assert.deepEqual(sections, Array(6).fill(false), `${name}: a section is open`);
    await page.locator(id('league-save')).click();
    await page.locator(`${id('admin-league')}[data-league="${slug}"]`).waitFor();
    await go(`/l/${slug}`);
    await page
      .locator(`${id('rules')} li`)
      .first()
      .waitFor();
    const facts = (line) => line.replace(/\s+/g, ' ').trim();
    assert.deepEqual(await rulesIn('main'), shown[0], name);
    assert.ok(facts(await page.locator('main .facts').first().textContent()).startsWith(facts(shown[1])), name);
    assert.equal((await send('POST', `/v1/leagues/${slug}/start`)).ok, true, name);
    await go('/admin/leagues');
  }
  assert.deepEqual(faults, []);
  await close();
});

test('the templates and their forms fit a phone and a desk, in both themes', { timeout: PATIENCE }, async () => {
  const names = ['quiz', 'debate', 'ladder', 'class', 'scratch'];
  await checkPages(
    {
      'new-league': ['/admin/leagues/new', id('templates')],
      ...Object.fromEntries(names.map((n) => [`new-league-${n}`, [`/admin/leagues/new/${n}`, id('league-form')]])),
    },
    { kept: KEPT, fullPage: true },
  );
});

test('the console opens by a second read of who is signed in', { timeout: PATIENCE }, async () => {
  const { page, faults, close, go } = await open('', { kept: KEPT, refusals: true });
  // It asks the page to wait, so that no try of its own comes before the click.
  await page.route(
    '**/v1/me',
    (route) => route.fulfill({ status: 429, headers: { 'retry-after': '600' }, json: { code: 'rate_limited' } }),
    { times: 1 },
  );
  await go('/admin');
  await page.locator(`${id('notice')} button`).click();
  await page.locator(`${id('status-line')}[aria-busy="false"]`).waitFor();
  assert.deepEqual(faults, []);
  await close();
});

test('parts of a list that overlap show an agent once, and one of a later part is paused', { timeout: PATIENCE }, async (t) => {
  const made = await pair(t);
  const { page, faults, close, go } = await open('', { kept: KEPT });
  await page.route(
    (url) => url.pathname === '/v1/agents',
    async (route) => {
      const [first, second] = await Promise.all(made.map((a) => api(`/v1/agents/${a.id}`)));
      const later = new URL(route.request().url()).searchParams.has('cursor');
      await route.fulfill({ json: later ? { items: [first, second], next_cursor: '' } : { items: [first], next_cursor: 'later' } });
    },
  );
  await go('/admin/agents');
  const rows = () => mapAll(page, id('admin-agent'), (r) => r.dataset.agent);
  const row = (n) => page.locator(`${id('admin-agent')}[data-agent="${made[n].id}"]`);
  await row(0).waitFor();
  await page.getByRole('button', { name: 'Load older' }).click();
  await row(1).waitFor();
  assert.deepEqual(
    await rows(),
    made.map((a) => a.id),
  );
  await row(1).locator(id('agent-pause')).click();
  await row(1).locator(id('agent-resume')).waitFor();
  assert.deepEqual(faults, []);
  await close();
});

test('agents that a league allows are named and can be taken off, also those that no list has', { timeout: PATIENCE }, async (t) => {
  const [agent] = await pair(t);
  const slug = `allowed-${once()}`;
  const league = {
    slug,
    title: slug,
    generator: { name: 'arithmetic' },
    judge: 'number',
    time_limit_seconds: 5,
    rated: false,
    entry: { allow: [agent.id] },
  };
  assert.equal((await send('POST', '/v1/leagues', league)).status, 201);
  const { page, faults, close, go } = await open('', { kept: KEPT });
  await page.route(
    (url) => url.pathname === '/v1/agents',
    (route) => route.fulfill({ json: { items: [], next_cursor: '' } }),
  );
  await go(`/admin/leagues/${slug}/edit`);
  await unfold(page, 'who');
  const row = page.locator(`${id('picker')}[data-field="allow"] .tick`, { hasText: agent.name });
  await row.locator('[type="checkbox"]').click();
  await row.locator('[type="checkbox"]:not(:checked)').waitFor(); // in its place: a slip is ticked again
  await page.locator(id('league-save')).click();
  await page.locator(`${id('admin-league')}[data-league="${slug}"]`).waitFor();
  assert.equal((await api(`/v1/leagues/${slug}`)).entry.allow, undefined);
  assert.equal((await send('DELETE', `/v1/leagues/${slug}`)).ok, true);
  assert.deepEqual(faults, []);
  await close();
});

test('a match is made void under its own reason, and Escape leaves it alone', { timeout: PATIENCE }, async (t) => {
  const duels = [];
  for (const title of ['First', 'Second']) duels.push(await heldDuel(t, title, 1, { rounds: 1, time_limit_seconds: 300, rated: false }));
  const { page, faults, close } = await open('/admin/matches', { kept: KEPT });
  const opener = (n) => page.locator(`${id('open-match')}[data-match="${duels[n].match_id}"][data-status="running"] ${id('end-match')}`);
  const reason = page.locator(`${id('typed')} [name="reason"]`);
  const hint = page.locator(`${id('hold')} + [role="status"]`);
  await opener(0).click();
  const unarmed = await hint.textContent();
  await reason.fill('of the first');
  await page.locator(id('hold')).evaluate((button) => button.click()); // as a screen reader clicks
  await hint.filter({ hasNotText: unarmed }).waitFor();
  await opener(1).click();
  await page.locator(`${id('typed')}:focus`).waitFor();
  assert.deepEqual([await reason.inputValue(), await hint.textContent()], ['', unarmed]);
  await page.keyboard.press('Escape');
  await page.locator(id('typed')).waitFor({ state: 'detached' });
  assert.equal(await opener(1).evaluate((b) => b === document.activeElement), true);
  for (const duel of duels) duel.letGo();
  assert.deepEqual(faults, []);
  await close();
});
