// Runs an arena by its admin console, in headless Chromium:
//
//   scripts/browser-test.sh admin.spec.mjs
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { demo } from './kit/arena.mjs';
import {
  ADMIN,
  api,
  checkPages,
  counted,
  everyPage,
  fits,
  heldDuel,
  id,
  mapAll,
  once,
  open,
  ORIGIN,
  pair,
  PATIENCE,
  pick,
  reachable,
  SCREENS,
  search,
  send,
  unfold,
  until,
} from './kit/kit.mjs';

await demo();
const KEPT = { 'arena.admin': ADMIN };
const text = (page, name) => page.locator(id(name)).textContent();
const file = (name, ...lines) => ({ name, mimeType: 'application/x-ndjson', buffer: Buffer.from(lines.join('\n')) });
const task = (q, a) => JSON.stringify({ description: q, answer: a });

/** Types what the form of a destructive act asks for, after a check that it waits for it. */
async function type(page, name) {
  const act = page.locator(id('typed-do'));
  assert.equal(await act.isDisabled(), true);
  await page.locator(`${id('typed')} [name="confirm"]`).fill(name.slice(1));
  assert.equal(await act.isDisabled(), true, 'a wrong name is enough');
  await page.locator(`${id('typed')} [name="confirm"]`).fill(name);
  await act.click();
}

test('the door takes an admin and nobody else, and the token lives in the tab', async () => {
  const { page, faults, close } = await open('/admin', { refusals: true });
  const { token } = await (await send('POST', '/v1/owners', { name: `owner ${once()}` }, '')).json();
  for (const [wrong, why] of [
    ['nonsense', /does not accept this token/],
    [token, /an owner's token for example/],
  ]) {
    await page.locator(`${id('admin-door')} [name="token"]`).fill(wrong);
    await page.locator(`${id('admin-door')} button`).click();
    await page.locator(id('trouble'), { hasText: why }).waitFor();
  }
  await page.locator(`${id('admin-door')} [name="token"]`).fill(ADMIN);
  await page.keyboard.press('Enter');
  await page.locator(`${id('status-line')}[aria-busy="false"]`).waitFor();
  assert.deepEqual(await page.evaluate(() => [sessionStorage.getItem('arena.admin'), localStorage.getItem('arena.admin')]), [ADMIN, null]);
  await page.locator(id('sign-out')).click();
  await page.locator(id('admin-door')).waitFor();
  assert.equal(await page.evaluate(() => sessionStorage.getItem('arena.admin')), null);
  assert.deepEqual(faults, []);
  await close();
});

test('an admin makes a pack, a league and a match, voids it, ends the league, and the log knows', { timeout: 2 * PATIENCE }, async (t) => {
  const slug = `night-cup-${once()}`;
  const { page, faults, close } = await open('/admin/packs', { kept: KEPT, refusals: true });

  // A pack with a bad line goes in whole or not at all.
  const upload = page.locator(id('upload'));
  await upload
    .locator('[type="file"]')
    .setInputFiles(file(`${slug}.jsonl`, task('One?', '1'), '{"description":"no answer"}', task('<b>Two?</b>', '2')));
  const wrong = page.locator(`${id('pack-lines')} li`);
  await wrong.first().waitFor();
  await counted(wrong, 1);
  assert.match(await wrong.textContent(), /line 2.*answer/);
  if (SCREENS) await page.screenshot({ path: `${SCREENS}/admin-packs-lines-1440-dark.png` });
  assert.equal((await (await send('GET', '/v1/packs')).json()).items.filter((p) => p.name === slug).length, 0);
  // The page reads Parquet files, and says when it cannot.
  const parquet = (name) => fileURLToPath(new URL(`../../src/lib/admin/testdata/${name}`, import.meta.url));
  await upload.locator('[type="file"]').setInputFiles(parquet('mmlu-zstd.parquet'));
  assert.match(await text(page, 'pack-unreadable'), /ZSTD/);
  await upload.locator('[type="file"]').setInputFiles(parquet('mmlu.parquet'));
  await page.locator(id('pack-sample'), { hasText: 'eagle' }).waitFor();
  await counted(page.locator(id('pack-unreadable')), 0);
  await upload.locator('[type="file"]').setInputFiles(file(`${slug}.jsonl`, task('One?', '1'), task('<b>Two?</b>', '2')));
  await upload.locator('button').click();
  assert.match(await text(page, 'pack-made'), /2 tasks, 0 left out/);

  // The form; beside it the league's page as it will be.
  await page.locator('.console nav a[href="/admin/leagues"]').click();
  await page.locator('a[href="/admin/leagues/new"]').click();
  await page.locator(id('template-scratch')).click();
  const form = page.locator(id('league-form'));
  const save = page.locator(id('league-save'));
  await form.locator('[name="title"]').fill(slug.replaceAll('-', ' ').toUpperCase());
  await unfold(page, 'about');
  await form.locator('[name="description"]').fill('Two agents, one <b>night</b>.');
  await form.locator('[name="prize"]').fill('A lamp');
  assert.equal(await form.locator('[name="slug"]').inputValue(), slug);
  await form.locator('[name="slug"]').fill('trivia'); // taken: its folded section opens at the end
  await unfold(page, 'about');
  await form.locator('[name="slug"]').waitFor({ state: 'detached' });
  await unfold(page, 'tasks');
  await form.locator('[name="source"]').selectOption('pack');
  await form.locator('[name="pack_id"]').selectOption({ label: `${slug} (2 tasks)` });
  await form.locator('[name="judge"]').selectOption('exact');
  await unfold(page, 'play');
  await form.locator('[name="rounds"]').fill('3');
  await form.locator('[name="time_limit_seconds"]').fill('300');
  await form.locator('[name="rules"]').fill('Be brief.\nNo <script>alert(1)</script>');
  const rules = await page.locator(`${id('preview')} li`).allTextContents();
  assert.ok(
    rules.includes('3 rounds per match, up to 300 seconds each.') && rules.includes('No <script>alert(1)</script>'),
    rules.join(' | '),
  );
  if (SCREENS) await page.screenshot({ path: `${SCREENS}/admin-league-form-1440-dark.png` });
  await save.click();
  await page.locator('[name="slug"][aria-invalid="true"]:focus').waitFor();
  await form.locator('[name="slug"]').fill(slug);
  await save.click();
  const row = (status) => page.locator(`${id('admin-league')}[data-league="${slug}"][data-status="${status}"]`);
  await row('open').waitFor();
  const made = await api(`/v1/leagues/${slug}`);
  assert.deepEqual(
    [made.rounds, made.judge.kind, made.rated, made.rules.length, made.description, made.prize],
    [3, 'exact', true, 2, 'Two agents, one <b>night</b>.', 'A lamp'],
  );

  // Agents enter; a match is started, and made void by a button that is held.
  const agents = await pair(t, slug);
  await page.locator('.console nav a[href="/admin/matches"]').click();
  const schedule = page.locator(id('schedule'));
  await until('league in the list', async () => (await schedule.locator(`option[value="${slug}"]`).count()) > 0);
  await schedule.locator('[name="league"]').selectOption(slug);
  await page.locator(`#seat-${agents[0].id}`).check();
  await schedule.locator('button').click();
  await page.locator(`${id('field-error')}[data-field="agents"]`).waitFor();
  await page.locator(`#seat-${agents[1].id}`).check();
  await schedule.locator('button').click();
  await page.locator(id('match-made')).waitFor();
  const matchId = (await page.locator(id('match-made')).getAttribute('href')).slice('/m/'.length);
  await page.locator(`${id('open-match')}[data-match="${matchId}"][data-status="running"] ${id('end-match')}`).click();
  assert.match(await text(page, 'typed-text'), /2 agents are playing it \(.*\)\. Rounds that will be lost: \d+/);
  if (SCREENS) await page.screenshot({ path: `${SCREENS}/admin-void-1440-dark.png` });
  await page.locator(`${id('typed')} [name="reason"]`).fill('the pack was wrong');
  const hold = page.locator(id('hold'));
  await hold.click(); // too short
  await hold.hover();
  await page.mouse.down();
  await page.locator(`${id('open-match')}[data-match="${matchId}"]`).waitFor({ state: 'detached' });
  await page.mouse.up();
  const ended = await api(`/v1/matches/${matchId}`);
  assert.deepEqual([ended.status, ended.void_reason], ['void', 'the pack was wrong']);

  // The league's states, up to the end under its name.
  await page.locator('.console nav a[href="/admin/leagues"]').click();
  await row('open').locator(id('move-start')).click();
  await row('running').locator(id('move-freeze')).click();
  await row('frozen').locator(id('move-resume')).click();
  await row('running').locator(id('move-pause')).click();
  await row('paused').locator(id('move-finish')).click();
  assert.match(await text(page, 'typed-text'), /current table \(2 agents\)\. \d+ live matches/);
  await type(page, slug);
  await row('finished').waitFor();

  // The log.
  await page.locator('.console nav a[href="/admin/audit"]').click();
  await page.locator('[name="find"]').fill(matchId);
  await page.keyboard.press('Enter');
  const log = () =>
    page.evaluate((entry) => [...document.querySelectorAll(entry)].map((e) => [e.dataset.action, e.dataset.target]), id('audit-entry'));
  await until('log of the match', async () => {
    const shown = await log();
    return (
      shown.length === 2 &&
      ['create-match', 'void-match'].every((act) => shown.some(([action, target]) => action === act && target === matchId))
    );
  });
  await page.locator(`${id('audit-entry')}[data-action="void-match"]`, { hasText: /^.* admin voided the match .+ – .+/ }).waitFor();
  await page.locator('[name="kind"]').selectOption('leagues');
  await page.waitForURL(/kind=leagues/);
  await page.locator('[name="find"]').fill(slug);
  await page.keyboard.press('Enter');
  await page.waitForURL(/find=/);
  await until('filtered log', async () => {
    const shown = await log();
    return shown.length > 0 && shown.every(([action, target]) => action.endsWith('-league') && target === slug);
  });
  assert.deepEqual(faults, []);
  await close();
});

test('a league of debates before a panel is made by the form; what is wrong stands at its field', { timeout: PATIENCE }, async (t) => {
  const slug = `panel-${once()}`;
  const [first, second] = await pair(t);
  const motions = (await (await send('GET', '/v1/packs?limit=100')).json()).items.find((p) => /motion|debate/i.test(p.name));
  const { page, faults, close } = await open('/admin/leagues/new/scratch', { kept: KEPT, refusals: true });
  const form = page.locator(id('league-form'));
  const save = page.locator(id('league-save'));
  const field = (name) => form.locator(`[name="${name}"]`);
  const said = () => page.locator(`${id('preview')} li`).allTextContents();

  await field('title').fill(slug);
  // What belongs to one format is there with that format alone.
  await unfold(page, 'when'); // each format has it
  for (const [format, own] of [
    ['elimination', 'min_seats'],
    ['round_robin', 'double'],
    ['swiss', 'swiss_rounds'],
    ['gauntlet', 'champion-find'],
    ['knockout', 'best_of'],
  ]) {
    await field('format').selectOption(format);
    if (format === 'elimination') await unfold(page, 'what');
    await field(own).waitFor();
    for (const other of ['min_seats', 'double', 'swiss_rounds', 'champion-find', 'best_of'])
      await counted(field(other), Number(other === own), `${other} with ${format}`);
  }
  await field('best_of').selectOption('3');
  assert.ok((await said()).includes('A meeting is the best of 3 games; draws are played again.'));
  await field('plays').selectOption('debate');
  assert.ok(!(await mapAll(page, `${id('league-form')} [name="format"] option`, (o) => o.value)).includes('elimination'));
  await unfold(page, 'tasks');
  await counted(field('source'), 0);
  await field('pack_id').selectOption(motions.pack_id);
  assert.deepEqual(await mapAll(page, `${id('league-form')} [name="judge"] option`, (o) => o.value), ['panel', 'crowd', 'model']);
  await field('turns').fill('1');
  await field('criteria').fill('reasons');
  await unfold(page, 'play');
  await counted(field('rounds'), 0);
  assert.equal(await field('visibility').inputValue(), 'live');
  await counted(field('delay'), 0);
  await field('visibility').selectOption('delayed');
  await field('delay').fill('45');
  await field('schedule_mode').selectOption('weekly');
  await field('schedule_zone').selectOption('Europe/Madrid');
  await field('schedule_time').fill('18:00');
  assert.match(await text(page, 'schedule-words'), /every Friday at 18:00 \(Europe\/Madrid\)/);
  await field('schedule_starts').selectOption('round');
  await unfold(page, 'who');
  await field('signup_until').fill('2040-01-02T03:04');
  await field('min_matches').fill('2');
  await pick(page, 'allow', first);
  const rules = await said();
  for (const rule of [
    /^A debate: two argue/,
    /^Each side speaks once/,
    /^Rounds start every Friday at 18:00/,
    /with 2 rated matches or more/,
    /^Only 1 agent on the list/,
    /^Judged by: reasons/,
    /^Everything is shown 45 seconds after it happens/,
  ]) {
    assert.ok(
      rules.some((r) => rule.test(r)),
      `${rule} in ${rules.join(' | ')}`,
    );
  }
  await unfold(page, 'tasks');
  await field('criteria').waitFor({ state: 'detached' });
  await save.click(); // nobody is on the panel
  await page.locator(`${id('field-error')}[data-field="judges"]:focus`).waitFor();
  const panel = form.locator(`${id('picker')}[data-field="judges"]`);
  await pick(page, 'judges', second);
  await field('judges-find').fill('nobody has this name');
  await counted(panel.locator('[type="checkbox"]'), 1);
  assert.equal(await form.locator(`${id('picker')}[data-field="allow"] [value="${first.id}"]`).isChecked(), true);
  await save.click();
  await page.locator(`${id('admin-league')}[data-league="${slug}"]`).waitFor();
  const made = await api(`/v1/leagues/${slug}`);
  assert.deepEqual(
    [
      made.judge,
      made.debate,
      made.rounds,
      made.format_options.best_of,
      made.format_options.schedule_starts,
      made.schedule,
      made.entry.allow,
      made.entry.min_matches,
      made.visibility,
    ],
    [
      { kind: 'panel', agents: [second.id], criteria: 'reasons' },
      { turns: 1 },
      2,
      3,
      'round',
      'CRON_TZ=Europe/Madrid 0 18 * * 5',
      [first.id],
      2,
      'delayed:45',
    ],
  );
  assert.deepEqual(faults, []);
  await close();
});

test('who is signed in has a link to the admin console, and nobody else', async () => {
  const { page, faults, close } = await open('/admin', { kept: KEPT });
  await page.locator('header a.brand').click();
  await page.locator(id('nav-admin')).click();
  await page.locator(id('status-line')).waitFor();
  await page.locator(id('sign-out')).click();
  await page.locator(id('nav-admin')).waitFor({ state: 'detached' });
  assert.deepEqual(faults, []);
  await close();
});

test('an owner enters an agent from the page of a league', { timeout: PATIENCE }, async (t) => {
  const slug = `door-${once()}`;
  const body = { slug, title: slug, generator: { name: 'arithmetic' }, judge: 'number', rounds: 1, time_limit_seconds: 5, rated: false };
  assert.equal((await send('POST', '/v1/leagues', body)).status, 201);
  const [mine] = await pair(t);
  const { page, faults, close } = await open(`/l/${slug}`, { kept: { 'arena.owner': mine.token } });
  await page.locator(`${id('league-enter')} [aria-expanded]`).click();
  await page.locator(`${id('enter-mine')}[data-agent="${mine.id}"]`).click();
  await page.locator(id('enter-none')).waitFor();
  assert.ok((await api(`/v1/agents/${mine.id}`)).leagues.includes(slug));
  assert.deepEqual(faults, []);
  await close();
});

test('an admin edits a league, enters agents, copies, archives and deletes', { timeout: 2 * PATIENCE }, async (t) => {
  const slug = `cup-${once()}`;
  const body = {
    slug,
    title: slug,
    generator: { name: 'arithmetic' },
    judge: 'number',
    rounds: 1,
    time_limit_seconds: 5,
    rated: false,
    entry: { password: 'sesame' },
  };
  assert.equal((await send('POST', '/v1/leagues', body)).status, 201);
  const [first] = await pair(t);
  const { page, faults, close } = await open('/admin/leagues', { kept: KEPT, refusals: true });
  const row = (name) => page.locator(`${id('admin-league')}[data-league="${name}"]`);
  await row(slug).locator(id('league-edit')).click();
  const field = (name) => page.locator(`${id('league-form')} [name="${name}"]`);
  await field('description').fill('Sums for the night.');
  await field('rules_text').fill('Be fair.');
  assert.match(await text(page, 'preview'), /Sums for the night\./);
  assert.equal((await field('slug').count()) + (await field('format').count()), 0);
  await unfold(page, 'when');
  await field('schedule_mode').selectOption('cron');
  await field('schedule').fill('often');
  await page.locator(id('league-save')).click();
  await page.locator(`${id('field-error')}[data-field="schedule"]`).waitFor();
  await field('schedule').fill('0 18 * * *');
  if (SCREENS) await page.screenshot({ path: `${SCREENS}/admin-league-edit-1440-dark.png`, fullPage: true });
  await page.locator(id('league-save')).click();
  await row(slug).waitFor();
  const changed = await api(`/v1/leagues/${slug}`);
  assert.deepEqual(
    [changed.description, changed.rules_text, changed.schedule, changed.entry.password_required, changed.rounds],
    ['Sums for the night.', 'Be fair.', '0 18 * * *', true, 1],
  );

  await row(slug).locator(id('league-agents')).click();
  await pick(page, 'enter', first);
  await page.locator(`${id('enter-agents')} [name="password"]`).fill('guess');
  await page.locator(`${id('enter-agents')} button`).click();
  await page.locator(`${id('enter-agents')} ${id('not-entered')}`, { hasText: /password/ }).waitFor();
  await page.locator(`${id('enter-agents')} [name="password"]`).fill('sesame');
  await page.locator(`${id('enter-agents')} button`).click();
  await page.locator(`${id('entered-agent')}[data-agent="${first.id}"]`).waitFor();
  await page.locator(`${id('entered-agent')}[data-agent="${first.id}"] ${id('withdraw')}`).click();
  await page.locator(`${id('entered-agent')}[data-agent="${first.id}"]`).waitFor({ state: 'detached' });

  await page.locator('.console nav a[href="/admin/leagues"]').click();
  await row(slug).locator(id('league-copy')).click();
  assert.equal(await field('title').inputValue(), `${slug} (copy)`);
  await page.locator(id('league-save')).click();
  await row(`${slug}-copy`).waitFor();
  assert.equal((await api(`/v1/leagues/${slug}-copy`)).description, 'Sums for the night.');

  await row(slug).locator(id('move-archive')).click();
  await page.locator(`${id('admin-league')}[data-league="${slug}"][data-archived="true"]`).waitFor();
  assert.equal(
    (await api('/v1/leagues')).items.some((l) => l.slug === slug),
    false,
  );
  const other = await open(`/l/${slug}`);
  await other.page.locator(id('archived')).waitFor();
  assert.match(
    await other.page.locator(id('rules')).textContent(),
    /Be fair\..*Each agent plays at most 24 matches in 24 hours\. *At least 10 minutes between two matches/s,
  );
  assert.deepEqual(other.faults, []);
  await other.close();
  await row(slug).locator(id('move-unarchive')).click();
  await page.locator(`${id('admin-league')}[data-league="${slug}"][data-archived="false"]`).waitFor();
  for (const name of [`${slug}-copy`, slug]) {
    await row(name).locator(id('league-delete')).click();
    await type(page, name);
    await row(name).waitFor({ state: 'detached' });
  }
  assert.equal((await send('GET', `/v1/leagues/${slug}`)).status, 404);
  assert.deepEqual(faults, []);
  await close();
});

test('finished matches are filtered and judged again', { timeout: PATIENCE }, async () => {
  await until('a finished match', async () => (await api('/v1/matches?status=finished&league=arithmetic')).items[0], PATIENCE);
  const { page, faults, close } = await open('/admin/matches', { kept: KEPT });
  await page.locator('a[href="/admin/matches/finished"]').click();
  await page.locator(id('filter-league')).selectOption('arithmetic');
  await page.waitForURL(/\/admin\/matches\/finished\?league=arithmetic$/);
  await page.locator(`${id('matches')}[data-address*="league=arithmetic"]`).waitFor();
  const one = page.locator(id('finished')).first();
  await one.locator(id('rescore')).click();
  await one.locator(id('rescored'), { hasText: 'Nothing changed' }).waitFor();
  if (SCREENS) await page.screenshot({ path: `${SCREENS}/admin-finished-1440-dark.png` });
  assert.deepEqual(faults, []);
  await close();
});

test('a question of a pack is removed with its use in view', { timeout: PATIENCE }, async () => {
  const name = `bad-${once()}`;
  const lines = [task('One?', '1'), task('<b>Two?</b>', '2')].join('\n');
  const made = await fetch(new URL(`/v1/packs?format=jsonl&name=${name}`, ORIGIN), {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN}`, 'content-type': 'text/plain' },
    body: lines,
  });
  const { pack_id: pack } = await made.json();
  const { page, faults, close } = await open('/admin/packs', { kept: KEPT });
  await page.locator(`${id('pack-link')}[href="/admin/packs/${pack}"]`).click();
  const question = (n, removed) => page.locator(`${id('question')}[data-n="${n}"][data-removed="${removed}"]`);
  await question(1, false).waitFor();
  await page.locator(id('pack-users'), { hasText: 'No league uses this pack' }).waitFor();
  await question(1, false).locator(id('question-remove')).click();
  assert.match(await text(page, 'typed-text'), /0 rounds/);
  await page.locator(id('hold')).focus();
  await page.keyboard.down('Enter'); // a key is held like a pointer
  await question(1, true).waitFor();
  await page.keyboard.up('Enter');
  await page.locator(id('question-removed'), { hasText: '0 matches were scored again' }).waitFor();
  if (SCREENS) await page.screenshot({ path: `${SCREENS}/admin-pack-1440-dark.png` });
  assert.deepEqual(faults, []);
  await close();
});

test('a corrected answer is applied to played rounds after a look at what changes', { timeout: PATIENCE }, async () => {
  const made = await fetch(new URL(`/v1/packs?format=jsonl&name=key-${once()}`, ORIGIN), {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN}`, 'content-type': 'text/plain' },
    body: task('2 + 2?', '4'),
  });
  const { pack_id: pack } = await made.json();
  const { page, faults, close } = await open('/admin', { kept: KEPT });
  const question = { description: '2 + 2?', rounds: 3 };
  const items = [
    { ...question, n: 0, answer: ['5'], replaced_by: 1 },
    { ...question, n: 1, answer: ['4'], rounds: 0 },
  ];
  await page.route(/\/tasks\?/, (route) => route.fulfill({ json: { items, next_cursor: '' } }));
  const asked = [];
  await page.route(/\/tasks\/0\/correct/, (route) => {
    const preview = route.request().url().includes('preview=true');
    asked.push(preview);
    const ratings = [{ agent_id: 'ag_1', rating_before: 1500, rating: 1540.4 }];
    const report = { matches: 3, changed: [{ match_id: 'm_1', seats: [] }], failed: [], kept: [], settlements: 1, ratings };
    return route.fulfill({ json: { preview, leagues: [{ league: 'quiz', report }] } });
  });
  await page.goto(new URL(`/admin/packs/${pack}`, ORIGIN).href);
  await page.locator(id('question-correct')).click();
  assert.match(await text(page, 'typed-text'), /^Finished matches that change: 1 of 3\. Ratings that move: 1, by 40 at most\./);
  await page.locator(`${id('question-changes')} a[href="/m/m_1"]`).waitFor();
  if (SCREENS) await page.screenshot({ path: `${SCREENS}/admin-correct-1440-dark.png` });
  await page.locator(id('hold')).focus();
  await page.keyboard.down('Enter');
  await page.locator(id('question-removed'), { hasText: '3 matches were scored again, 1 changed' }).waitFor();
  await page.keyboard.up('Enter');
  assert.deepEqual(asked, [true, false]);
  await counted(page.locator(id('question-correct')), 0);
  assert.deepEqual(faults, []);
  await close();
});

test('the calendar has the seasons of all leagues by days, and what schedules will start', { timeout: PATIENCE }, async (t) => {
  const slug = `friday-${once()}`;
  const body = {
    slug,
    title: slug,
    generator: { name: 'arithmetic' },
    judge: 'number',
    rounds: 1,
    time_limit_seconds: 5,
    rated: false,
    format: 'swiss',
    schedule: '0 18 * * 5',
  };
  assert.equal((await send('POST', '/v1/leagues', body)).status, 201);
  assert.equal((await send('POST', `/v1/leagues/${slug}/start`)).status, 200);
  t.after(() => send('POST', `/v1/leagues/${slug}/finish`));
  const run = await until(
    'season',
    async () => (await (await send('GET', '/v1/admin/calendar')).json()).items.find((i) => i.kind === 'season'),
    PATIENCE,
  );
  const { page, faults, close } = await open('/admin', { kept: KEPT });
  await page.locator('.console nav a[href="/admin/calendar"]').click();
  await page
    .locator(`${id('calendar-day')}[data-day="${run.day}"] ${id('calendar-item')}[data-league="${run.league}"]:not([data-state="coming"])`)
    .waitFor();
  const month = await page.locator(id('month')).getAttribute('data-month');
  await page.locator(id('month-after')).focus();
  await page.keyboard.press('Enter');
  const fridays = `${id('calendar-item')}[data-league="${slug}"][data-state="coming"]`;
  await page.locator(`${id('month')}:not([data-month="${month}"])`).waitFor();
  await page.locator(fridays).first().waitFor();
  const days = await mapAll(page, fridays, (i) => [
    new Date(i.closest('[data-day]').dataset.day).getUTCDay(),
    i.textContent.includes('18:00'),
  ]);
  assert.ok(days.length >= 4 && days.every(([day, six]) => day === 5 && six), JSON.stringify(days));
  assert.match(page.url(), /month=\d{4}-\d\d/);
  // A phone has a list: days with nothing on them are left out.
  await page.setViewportSize({ width: 390, height: 844 });
  assert.deepEqual(
    [await page.locator(`${id('calendar-day')}.bare:visible`).count(), (await page.locator(`${id('calendar-day')}:visible`).count()) > 0],
    [0, true],
  );
  await page.goto(page.url().replace(/month=.*/, 'month=2001-01'));
  await page.locator(id('calendar-none')).waitFor();
  assert.deepEqual(faults, []);
  await close();
});

test('the overview says how the arena runs; the banner reaches every page; a drain says what it means', { timeout: PATIENCE }, async () => {
  const { page, faults, close } = await open('/admin', { kept: KEPT });
  await page
    .locator(`${id('node')}[data-alive="true"]`)
    .first()
    .waitFor();
  assert.match(await text(page, 'vitals'), /(?=.*ARENA_BACKUP_TO)(?=.*accepts writes)(?=.*iB of .*iB free)/s); // the full disk of a machine comes first
  const notice = `Down at six ${once()} <b>`;
  await page.locator(`${id('banner-form')} [name="text"]`).fill(notice);
  await page.locator(`${id('banner-form')} button`).click();
  await page.locator(id('banner-said'), { hasText: 'within a minute' }).waitFor();
  for (const path of ['/', '/leagues']) {
    const other = await open(path);
    await other.page.locator(`${id('banner')} p`, { hasText: notice }).waitFor();
    await counted(other.page.locator(`${id('banner')} b`), 0);
    await other.page.locator(`${id('banner')} button`).click();
    await other.page.locator(id('banner')).waitFor({ state: 'detached' });
    assert.deepEqual(other.faults, []);
    await other.close();
  }
  await page.locator(`${id('banner-form')} [name="text"]`).fill('');
  await page.locator(`${id('banner-form')} button`).click();
  await until('end of the banner', async () => (await api('/v1/banner')).text === '');

  await page.locator(id('drain')).click();
  assert.match(await text(page, 'typed-text'), /\d+ running matches/);
  assert.equal(await page.locator(id('typed-do')).isDisabled(), true);
  assert.deepEqual(faults, []);
  await close();
});

test('an admin pauses an agent and lets it play again', async (t) => {
  const [agent] = await pair(t);
  const { page, faults, close } = await open('/admin/agents', { kept: KEPT });
  await search(page, '[name="find"]', agent.name, id('admin-agent'));
  const row = page.locator(`${id('admin-agent')}[data-agent="${agent.id}"]`);
  await row.locator(id('agent-pause')).click();
  await row.locator(id('agent-resume')).click();
  await row.locator(id('agent-pause')).waitFor();
  assert.deepEqual(faults, []);
  await close();
});

test('an admin finds an owner by status, suspends it for a reason, exports and deletes it', async () => {
  const owner = await api('/v1/owners', { method: 'POST', token: '', body: { name: `owner ${once()}` } });
  const { name } = await api('/v1/me', { token: owner.token });
  const { page, faults, close } = await open('/admin/owners', { kept: KEPT });
  await search(page, '[name="find"]', name, id('admin-owner'));
  const row = (status) => page.locator(`${id('admin-owner')}[data-owner="${owner.owner_id}"][data-status="${status}"]`);
  await row('active').locator(id('owner-suspend')).click();
  await row('active').locator('[name="reason"]').fill('spam');
  await type(page, name);
  await page.locator('[name="status"]').selectOption('suspended');
  await row('suspended').getByText('spam').waitFor();
  await row('suspended').locator(id('owner-show')).click();
  const saved = page.waitForEvent('download');
  await page.locator(id('owner-export')).click();
  assert.equal((await saved).suggestedFilename(), `${owner.owner_id}.zip`);
  await page.locator(id('owner-delete')).click();
  await type(page, name);
  await row('suspended').waitFor({ state: 'detached' });
  assert.deepEqual(faults, []);
  await close();
});

test('an admin hides an answer of a match that is over', { timeout: PATIENCE }, async (t) => {
  const { match_id } = await heldDuel(t, 'Insult', 2, { rounds: 1, time_limit_seconds: 60, rated: false });
  await until('the end', async () => (await api(`/v1/matches/${match_id}`)).status === 'finished');
  const { page, faults, close } = await open(`/m/${match_id}`, { kept: KEPT });
  await page.locator(id('hide-answer')).first().click();
  await page.locator(`${id('hide')} [name="reason"]`).fill('insult');
  for (let i = 0; i < 2; i++) await page.locator(id('hold')).evaluate((button) => button.click());
  await page.locator(id('notice'), { hasText: 'Hidden by a moderator' }).first().waitFor();
  assert.deepEqual(faults, []);
  await close();
});

test('axe finds nothing serious in the admin console, and the keyboard alone walks through it', { timeout: 3 * PATIENCE }, async () => {
  await reachable([['/admin', id('admin-door')]]);
  const pages = [
    ['/admin', id('nodes')],
    ['/admin/leagues', id('admin-league')],
    ['/admin/leagues/new', id('templates')],
    ['/admin/leagues/new/quiz', id('league-form')],
    ['/admin/calendar', id('calendar-item')],
    ['/admin/matches', `${id('schedule')} .tick`],
    ['/admin/agents', id('admin-agent')],
    ['/admin/packs', `${id('packs')} li`],
    ['/admin/audit', `${id('audit')} li`],
  ];
  await reachable(pages, { kept: KEPT });
  await everyPage(pages, { kept: KEPT, locale: 'es', width: 360, height: 740 }, async ({ page, faults }, path) => {
    await fits(page, `${path} in Spanish at 360`);
    assert.deepEqual(faults.splice(0), [], path);
  });
});

test('the admin console fits a phone and a desk, in both themes', { timeout: 3 * PATIENCE }, async () => {
  await checkPages(
    {
      'admin-overview': ['/admin', id('nodes')],
      'admin-leagues': ['/admin/leagues', id('admin-league')],
      'admin-calendar': ['/admin/calendar', id('calendar-item')],
      'admin-templates': ['/admin/leagues/new', id('templates')],
      'admin-league-form-quiz': ['/admin/leagues/new/quiz', id('league-form')],
      'admin-league-copy': ['/admin/leagues/trivia/copy', id('league-form')],
      'admin-league-agents': ['/admin/leagues/trivia/agents', id('entered-agent')],
      'admin-finished': ['/admin/matches/finished', id('finished')],
      'league-about': ['/l/trivia', id('about')],
      'admin-matches': ['/admin/matches', `${id('schedule')} .tick`],
      'admin-agents': ['/admin/agents', id('admin-agent')],
      'admin-games': ['/admin/games', `${id('games')} li`],
      'admin-packs': ['/admin/packs', `${id('packs')} li`],
      'admin-audit': ['/admin/audit', `${id('audit')} li`],
    },
    { kept: KEPT },
  );
});
