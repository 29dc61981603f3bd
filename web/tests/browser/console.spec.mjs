// Walks through the owner's console of a running arena, in headless Chromium:
//
//   scripts/browser-test.sh console.spec.mjs
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { demo } from './kit/arena.mjs';
import {
  ADMIN,
  api,
  checkPages,
  counted,
  fake,
  id,
  mapAll,
  once,
  open,
  ORIGIN,
  pair,
  PATIENCE,
  reachable,
  register,
  SCREENS,
  send,
  SIZES,
  until,
} from './kit/kit.mjs';

await demo();

const HOSTILE = '<script>alert(1)</script> no answer';

/** Signs up by keyboard alone and gives the token that was shown. */
async function signUp(page, name) {
  await page.locator(`${id('sign-up')} [name="name"]`).focus();
  await page.keyboard.type(name);
  await page.keyboard.press('Enter');
  const token = await page.locator(id('secret-token')).inputValue();
  await page.locator(id('kept')).focus();
  await page.keyboard.press('Enter');
  await page.locator(id('register')).waitFor();
  return token;
}

/** An open or running league for two, and an agent of the demo that plays in it. */
async function stage() {
  const leagues = (await api('/v1/leagues')).items.filter(
    (l) => l.min_seats <= 2 && l.format === 'ladder' && !l.debate && !l.game && ['open', 'running'].includes(l.status),
  );
  for (const league of leagues) {
    const opponent = (await api(`/v1/agents?league=${league.slug}&limit=100`)).items.find((a) => a.status === 'active');
    if (opponent) return { league: league.slug, opponent: opponent.agent_id };
  }
  throw new Error('no league with an agent in it');
}

/** Opens a part of the page of an agent. */
const tab = (page, name) => page.locator(`${id('tabs')} [href="#${name}"]`).click();

test('an owner brings an agent from sign-up to its first delivery, and retires it', { timeout: 2 * PATIENCE }, async (t) => {
  const { league, opponent } = await stage();
  const agent = Object.assign(await fake(t, () => HOSTILE), { league, healthy: false });
  const name = `Fledgling ${once()}`;
  const { page, faults, close } = await open('/', { refusals: true });
  await page.locator('header a[href="/console"]').click();
  await page.locator(id('door')).waitFor();
  const token = await signUp(page, `owner ${once()}`);

  // A refused form says what is wrong at the field, and focus is there.
  const form = page.locator(id('register'));
  await page.locator('[name="way"][value="http"]').check();
  await form.locator('[name="name"]').fill(name);
  await form.locator('[name="endpoint"]').fill(`${ORIGIN}/agora`);
  await page.locator(`#league-${league}`).check();
  await form.locator('button').click();
  await page.locator(`${id('field-error')}[data-field="endpoint"]`).waitFor();
  await page.locator('[name="endpoint"][aria-invalid="true"]:focus').waitFor();

  // The test fails in words, then passes.
  await form.locator('[name="endpoint"]').fill(agent.endpoint);
  await form.locator('button').click();
  await page.locator(`${id('check')}[data-state="failed"]`).waitFor();
  const results = () => mapAll(page, id('check-step'), (s) => s.dataset.result);
  assert.deepEqual(await results(), ['passed', 'passed', 'passed', 'failed', 'skipped', 'skipped']);
  assert.match(await page.locator(`${id('check-step')}[data-step="ok"]`).textContent(), /What to do/);
  agent.healthy = true;
  await page.getByRole('button', { name: 'Test again' }).click();
  await page.locator(`${id('check')}[data-state="passed"]`).waitFor();
  assert.deepEqual(new Set(await results()), new Set(['passed']));
  if (SCREENS) await page.screenshot({ path: `${SCREENS}/console-registered-1440-dark.png`, fullPage: true });
  await page.locator(`${id('next')} a[href^="/console/agents/"]`).click();

  // Pause and resume. An agent that can play begins with how it stands.
  const details = page.locator(id('agent-details'));
  await details.waitFor();
  await page.locator(id('overview')).waitFor();
  const agentId = page.url().split('/').pop();
  await tab(page, 'connection');
  await page.locator(id('pause')).click();
  await page.locator(`${id('agent-details')}[data-status="paused"]`).waitFor();
  await page.locator(id('resume')).click();
  await page.locator(`${id('agent-details')}[data-status="active"]`).waitFor();

  // A match, and what was delivered in it.
  await tab(page, 'log');
  await api('/v1/matches', { method: 'POST', token: ADMIN, body: { league, agents: [agentId, opponent], rated: false } });
  await page
    .locator(`${id('delivery')}[data-outcome="invalid"]`)
    .first()
    .waitFor({ timeout: PATIENCE });
  await page.locator(id('cause')).selectOption('answered');
  await page.locator(id('delivery')).first().waitFor({ state: 'detached' });
  await page.locator(id('cause')).selectOption('invalid');
  await page
    .locator(`${id('delivery')} button`)
    .first()
    .click();
  assert.match(await page.locator(id('request')).textContent(), /"task_id"/);
  assert.equal(await page.locator(id('reply')).textContent(), HOSTILE);
  await counted(page.locator('main script'), 0);

  // The same entry as a command, and sent again.
  const curl = await page.locator(id('curl')).textContent();
  assert.ok(curl.includes(`'${agent.endpoint}'`) && curl.includes('"task_id"'), curl);
  await send('POST', `/v1/agents/${agentId}/pause`, undefined, token);
  await until('agent without a match', async () => (await api(`/v1/agents/${agentId}`)).running === 0, PATIENCE);
  await page.locator(id('send-again')).click();
  await page.locator(`${id('deliveries')} ${id('rehearsal')} [data-verdict="failed"]`).waitFor({ timeout: PATIENCE });

  // Why it lost: the round, with what went wrong and the way to the moment.
  await tab(page, 'overview');
  const lost = page.locator(`${id('lost-rounds')} li`).first();
  await lost.getByText('unreadable reply').first().waitFor();
  assert.match(await lost.locator('a').getAttribute('href'), /^\/m\/m_\w+\?seq=\d+$/);
  if (SCREENS) await page.screenshot({ path: `${SCREENS}/console-losses-1440-dark.png`, fullPage: true });

  // A sick agent is red, with the reason and the way to the log.
  await tab(page, 'connection');
  await page.locator(id('resume')).click();
  agent.healthy = false;
  await page.locator(id('check-now')).click();
  const failure = page.locator(id('failure'), { hasText: 'its status is not “ok”' });
  await failure.waitFor();
  await page.locator('.console a[href="/console"]').click();
  await page.locator(`${id('failure')} a`).click();
  await page.waitForFunction(() => {
    const top = document.querySelector('#log')?.getBoundingClientRect().top;
    return top !== undefined && top < innerHeight;
  });
  agent.healthy = true;
  await tab(page, 'connection');
  await page.locator(id('check-now')).click();
  await failure.waitFor({ state: 'detached' });
  if (SCREENS) await page.screenshot({ path: `${SCREENS}/console-agent-1440-dark.png`, fullPage: true });

  // Out of the league, a new version, and the end.
  await tab(page, 'play');
  const entry = page.locator(`${id('entry')}[data-league="${league}"]`);
  await entry.locator('button').click();
  await page.locator(`${id('entry')}[data-league="${league}"][data-entered="false"]`).waitFor();
  await tab(page, 'settings');
  await page.locator(`${id('edit')} [name="version"]`).fill('2.0');
  await page.locator(`${id('edit')} [name="model"]`).fill('LangGraph');
  await page.locator(`${id('edit')} [name="pause_after"]`).fill('20');
  await page.locator(`${id('edit')} button`).click();
  await page.locator(id('said'), { hasText: 'Saved' }).waitFor();
  const saved = await api(`/v1/agents/${agentId}`, { token });
  assert.deepEqual([saved.version, saved.model, saved.pause_after], ['2.0', 'LangGraph', 20]);
  const retire = page.locator(`${id('retire')} button`);
  assert.equal(await retire.isDisabled(), true);
  await page.locator(`${id('retire')} input`).fill(name);
  await retire.click();
  await page.locator(id('my-agents')).waitFor();
  assert.equal((await api(`/v1/agents/${agentId}`)).status, 'retired');
  assert.deepEqual(faults, []);
  await close();
});

test('a command copied from the console connects an agent, whose first match it shows', { timeout: PATIENCE }, async (t) => {
  const { page, faults, close } = await open('/console', { refusals: true });
  await signUp(page, `owner ${once()}`);
  await page
    .locator(`${id('register')} [type="checkbox"]:checked`)
    .first()
    .waitFor();
  assert.match(await page.locator(id('join-command')).textContent(), /--key arg_…/);
  // Leagues of other tests have no opponents; that of the demo has.
  const others = page.locator(`${id('register')} [type="checkbox"]:checked:not(#league-trivia)`);
  while (await others.count()) await others.first().uncheck();
  await page.locator(`${id('register')} button`).click();
  await page.locator(`${id('connection')}[data-connection="waiting"]`).waitFor();
  const command = await page.locator(id('join-command')).textContent();
  const key = /--key (arg_\S+)/.exec(command)[1];
  assert.equal((await api('/v1/me', { token: key })).scope, 'agent');

  const created = page.url();
  const dir = mkdtempSync(join(tmpdir(), 'console-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  writeFileSync(join(dir, 'claude'), '#!/bin/sh\ncat >/dev/null\necho 42\n', { mode: 0o755 });
  // As printed, but for exec: what ends the shell ends the program.
  const run = spawn('bash', ['-c', command.replace('\narena join', '\nexec arena join')], {
    env: { HOME: dir, ARENA_CONFIG_DIR: dir, PATH: [dir, process.env.PATH].join(delimiter) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise((done) => run.once('exit', done));
  let out = '';
  let connected = false;
  for (const stream of [run.stdout, run.stderr]) stream.on('data', (text) => (out += text));
  t.after(async () => {
    run.kill();
    await ended;
    if (!connected) console.error(out);
  });
  await page.locator(`${id('connection')}[data-connection="connected"]`).waitFor();
  connected = true;
  assert.equal(page.url(), created);
  await page.locator(id('first-match')).click({ timeout: PATIENCE });
  await page.locator(`${id('match')}[data-ready="true"]`).waitFor();
  assert.deepEqual(faults, []);
  await close();
});

test('an agent that fetches its tasks is found under its keys, which are rotated and revoked', async () => {
  const { id: agentId, token, name } = await register({ name: `Pulling ${once()}` });
  const { page, faults, close } = await open(`/console/agents/${agentId}`, { kept: { 'arena.owner': token } });
  await page.locator(`${id('connection')}[data-connection="waiting"]`).waitFor();
  const keys = page.locator(id('key'));
  await page.getByRole('button', { name: 'Rotate first', exact: true }).click();
  await page.getByRole('button', { name: 'Confirm rotation of first' }).click();
  const first = await page.locator(id('issued-key')).textContent();
  assert.match(first, /^arg_/);
  await page.locator(id('join-command'), { hasText: first }).waitFor();
  await page.locator(`${id('create-key')} [name="name"]`).fill('laptop');
  await page.locator(`${id('create-key')} button`).click();
  await page.locator(id('issued-key'), { hasNotText: first }).waitFor();
  await keys.nth(1).waitFor();
  assert.equal((await send('GET', '/v1/me', undefined, first)).status, 200);
  await page.getByRole('button', { name: 'Revoke first', exact: true }).click();
  await page.getByRole('button', { name: 'Revoke first for good' }).click();
  await keys.nth(1).waitFor({ state: 'detached' });
  assert.equal((await send('GET', '/v1/me', undefined, first)).status, 401);
  await page.goto(`${ORIGIN}/a/${agentId}`);
  await page.locator(id('connects'), { hasText: 'fetches its tasks' }).waitFor();
  assert.ok((await page.title()).includes(name));
  assert.deepEqual(faults, []);
  await close();
});

test('the page of an agent claims nothing before it has been read', async (t) => {
  const agent = await fake(t);
  const { token, id: made } = await register({ name: `Slow ${once()}`, endpoint: agent.endpoint, leagues: [] });
  const { page, faults, close, go } = await open('', { kept: { 'arena.owner': token } });
  let letGo;
  const gone = new Promise((resolve) => (letGo = resolve));
  await page.route(`**/v1/agents/${made}`, async (route) => {
    await gone;
    await route.continue();
  });
  await go(`/console/agents/${made}`);
  await page.locator('.console .bar', { hasText: 'Signed in as owner' }).waitFor(); // who is signed in is known
  await counted(page.locator(id('notice')), 0);
  letGo();
  await page.locator(id('agent-details')).waitFor();
  assert.deepEqual(faults, []);
  await close();
});

test(
  'an owner limits an agent, and its page shows its last full check, which the owner runs in the console',
  { timeout: PATIENCE },
  async (t) => {
    const { league } = await stage();
    const agent = Object.assign(await fake(t, () => HOSTILE), { league });
    const { id: agent_id, token } = await register({
      name: `Checked ${once()}`,
      endpoint: agent.endpoint,
      leagues: [league],
      version: '1',
    });
    const { page, faults, go, close } = await open(`/console/agents/${agent_id}#settings`, { kept: { 'arena.owner': token } });

    // Its budget: the use of today, a forecast, and a limit that stops it.
    const budget = page.locator(id('budget'));
    await budget.locator(id('budget-forecast')).waitFor();
    const limit = async (values) => {
      for (const [name, value] of Object.entries(values)) await budget.locator(`[name="${name}"]`).fill(value);
      await budget.locator('button').click();
      await budget.locator(id('budget-saved')).getByText(/./).waitFor();
    };
    await budget.locator('[name="zone"]').selectOption('Europe/Madrid');
    await limit({ matches_per_day: '3', tokens_per_day: '1' });
    await page.locator(`${id('budget')}[data-cooldown="tokens"] ${id('budget-cooldown')}`).waitFor();
    assert.match(await budget.locator(id('budget-matches')).textContent(), /\b\d+ of 3\b/);
    assert.equal((await api(`/v1/agents/${agent_id}`)).cooldown, 'budget');
    assert.deepEqual((await api(`/v1/agents/${agent_id}`, { token })).budget, {
      matches_per_day: 3,
      tokens_per_day: 1,
      hours: { zone: 'Europe/Madrid', from: '00:00', to: '24:00' },
    });
    if (SCREENS) await budget.screenshot({ path: `${SCREENS}/console-budget.png` });
    await limit({ matches_per_day: '', tokens_per_day: '' });
    await page.locator(`${id('budget')}:not([data-cooldown])`).waitFor();
    assert.equal((await api(`/v1/agents/${agent_id}`, { token })).budget, undefined);

    await tab(page, 'play');
    await page.locator(id('full-check')).click();
    await page
      .locator(`${id('findings')} [data-state="wrong"]`)
      .first()
      .waitFor({ timeout: PATIENCE });
    await go(`/a/${agent_id}`);
    const badge = page.locator(`${id('conformance')}[data-passed="false"]`);
    await badge.waitFor();
    assert.match(await badge.locator('summary').textContent(), /MUST \d+\/\d+ · SHOULD \d+\/\d+/);
    await badge.locator('summary').click();
    await badge.getByText('a good task is answered').waitFor();
    assert.equal((await fetch(`${ORIGIN}/v1/agents/${agent_id}/badge.svg`)).headers.get('content-type'), 'image/svg+xml; charset=utf-8');
    assert.deepEqual(faults, []);
    await close();
  },
);

test('an owner challenges an agent of its league to an unrated match and watches it', { timeout: PATIENCE }, async (t) => {
  const slug = `spar-${once()}`;
  assert.equal(
    (
      await send('POST', '/v1/leagues', {
        slug,
        title: 'Sparring ring',
        generator: { name: 'arithmetic' },
        judge: 'number',
        rounds: 1,
        time_limit_seconds: 60,
        rated: true,
      })
    ).status,
    201,
  );
  const [mine, theirs] = await pair(t, slug);
  const { page, faults, close } = await open(`/console/agents/${mine.id}#play`, { kept: { 'arena.owner': mine.token }, refusals: true });
  const form = page.locator(id('challenge'));
  await form.locator(`option[value="${theirs.id}"]`).waitFor({ state: 'attached' });
  await counted(form.locator(`option[value="${mine.id}"]`), 0, 'an agent may challenge itself');
  await form.locator('[name="opponent_id"]').selectOption(theirs.id);

  // Whoever is paused meanwhile is not challenged: the form says so at its field.
  assert.equal((await send('POST', `/v1/agents/${theirs.id}/pause`, undefined, theirs.token)).status, 200);
  await form.locator('button').click();
  await page.locator(`${id('field-error')}[data-field="opponent_id"]`, { hasText: 'paused' }).waitFor();
  assert.equal((await send('POST', `/v1/agents/${theirs.id}/resume`, undefined, theirs.token)).status, 200);
  await form.locator('button').click();
  await page.locator(id('challenge-made')).click();
  await page.locator(`${id('match')}[data-ready="true"]`).waitFor();
  const match = await api(`/v1/matches/${await page.locator(id('match')).getAttribute('data-match')}`);
  assert.equal(match.rated, false);
  assert.deepEqual(
    match.seats.map((s) => s.agent_id),
    [mine.id, theirs.id],
  );
  assert.equal((await send('POST', `/v1/matches/${match.match_id}/void`, {})).status, 200);
  assert.deepEqual(faults, []);
  await close();
});

test('an owner chooses the avatar of an agent, with which the leaderboard is first drawn', async () => {
  const { league } = await stage();
  const agent = await register({ name: `Dressed ${once()}`, leagues: [league] });
  const { page, faults, close } = await open(`/console/agents/${agent.id}#settings`, { kept: { 'arena.owner': agent.token } });
  const figure = (place) => place.locator('.avatar .figure').first().getAttribute('d');
  const preview = page.locator(`${id('mark')} .preview`);
  await preview.getByText('Automatic').waitFor();
  const generated = await figure(preview);
  // By keyboard: from the generated avatar to the second shape; its color is the nearest one until another is chosen.
  await page.getByRole('radio', { name: 'Automatic' }).focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await page.getByRole('radio', { name: 'teal', exact: true }).check();
  await preview.getByText('Pinwheel, teal').waitFor();
  await page.locator(`${id('edit')} button`).click();
  await page.locator(id('said'), { hasText: 'Saved' }).waitFor();
  const chosen = await figure(preview);
  assert.notEqual(chosen, generated);
  assert.equal(await figure(page.locator(id('agent-details'))), chosen);
  assert.equal((await api(`/v1/agents/${agent.id}`)).mark, 'pinwheel-teal');

  // The board of another reader has it from the page itself.
  const board = await open();
  const reads = [];
  board.page.on('request', (r) => r.url().endsWith('/v1/marks') && reads.push(r.url()));
  await board.go(`/l/${league}`);
  assert.equal(await figure(board.page.locator(`a[href="/a/${agent.id}"]`)), chosen);
  assert.deepEqual(reads, []);

  await page.getByRole('radio', { name: 'Automatic' }).check();
  await page.locator(`${id('edit')} button`).click();
  await until('no mark', async () => (await api(`/v1/agents/${agent.id}`)).mark === undefined);
  assert.equal(await figure(preview), generated);
  assert.deepEqual([...faults, ...board.faults], []);
  await board.close();
  await close();
});

test('a token lives in the tab, is shown once, and ends when it is revoked', async () => {
  const { page, faults, close } = await open('/console', { refusals: true });
  const first = await signUp(page, `owner ${once()}`);
  assert.deepEqual(await page.evaluate(() => [sessionStorage.getItem('arena.owner'), localStorage.getItem('arena.owner')]), [first, null]);
  await page.locator('.console a[href="/console/tokens"]').click();
  await page.locator(`${id('make-token')} [name="name"]`).fill('laptop');
  await page
    .locator(`${id('make-token')} button`)
    .first()
    .click();
  const second = await page.locator(id('secret-token')).inputValue();
  assert.equal((await api('/v1/me/tokens', { token: second })).items.length, 2);
  await page.getByRole('button', { name: 'Sign out' }).click();

  // Remembered: it outlives the tab.
  await page.locator(`${id('sign-in')} [name="token"]`).fill(second);
  await page.locator(`${id('sign-in')} [name="remember"]`).check();
  await page.locator(`${id('sign-in')} button`).click();
  await page.locator(id('tokens')).waitFor();
  assert.deepEqual(await page.evaluate(() => [sessionStorage.getItem('arena.owner'), localStorage.getItem('arena.owner')]), [null, second]);
  const revoke = page.getByRole('button', { name: 'Revoke first', exact: true });
  await revoke.click();
  await page.keyboard.press('Escape'); // the focus is on the second button, and goes back to the first
  await revoke.waitFor();
  assert.equal(await revoke.evaluate((b) => b === document.activeElement), true);
  await revoke.click();
  await page.getByRole('button', { name: 'Revoke first for good' }).click();
  await page.locator(id('token')).nth(1).waitFor({ state: 'detached' });
  assert.equal((await send('GET', '/v1/me', undefined, first)).status, 401);

  // Revoked elsewhere: the console says so and shows the door.
  const { items } = await api('/v1/me/tokens', { token: second });
  assert.equal((await send('DELETE', `/v1/me/tokens/${items[0].token_id}`, undefined, second)).status, 204);
  await page.reload();
  await page.locator(id('expired')).waitFor();
  assert.equal(await page.evaluate(() => localStorage.getItem('arena.owner')), null);
  assert.deepEqual(faults, []);
  await close();
});

test('an owner rotates the token of the session, exports its data and deletes its account', async () => {
  const { page, faults, close } = await open('/console', { refusals: true });
  const name = `owner ${once()}`;
  const first = await signUp(page, name);
  await page.locator('.console a[href="/console/tokens"]').click();
  await page.getByRole('button', { name: 'Rotate first', exact: true }).click();
  await page.locator('[data-value="3600"]').click();
  await page.getByRole('button', { name: 'Confirm rotation of first' }).click();
  const second = await page.locator(id('secret-token')).inputValue();
  assert.equal((await send('GET', '/v1/me', undefined, first)).status, 200);
  assert.equal(await page.evaluate(() => sessionStorage.getItem('arena.owner')), second);
  await page.locator('.console a[href="/console/account"]').click();
  const saved = page.waitForEvent('download');
  await page.locator(id('export-me')).click();
  assert.equal((await saved).suggestedFilename(), 'arena-data.zip');
  const act = page.locator(`${id('delete-me')} button`);
  assert.equal(await act.isDisabled(), true);
  await page.locator(`${id('delete-me')} [name="confirm"]`).fill(name);
  await act.click();
  await page.locator(id('sign-in')).waitFor();
  for (const token of [first, second]) assert.equal((await send('GET', '/v1/me', undefined, token)).status, 401);
  assert.deepEqual(faults, []);
  await close();
});

test('the console fits a phone and a desk, in both themes and languages, and names its fields', async (t) => {
  const { league } = await stage();
  const agent = Object.assign(await fake(t), { league, healthy: false });
  const { token, ...made } = await register({ name: `Night ${once()} شبكة`, endpoint: agent.endpoint, leagues: [] });
  const pulling = { id: (await api('/v1/agents', { method: 'POST', token, body: { name: `Pulling ${once()}` } })).agent_id };
  const check = async (page, name) => {
    // In one evaluation: between two a field may come or go, and one that is gone has no label.
    const nameless = await page.evaluate(() =>
      [...document.querySelectorAll('main :is(input, select, textarea)')]
        .filter((e) => !e.labels?.length && !e.ariaLabel)
        .map((e) => e.outerHTML),
    );
    assert.deepEqual(nameless, [], name);
  };
  for (const [locale, sizes] of [
    ['en', SIZES],
    ['es', [SIZES[0], SIZES.at(-1)]],
  ]) {
    const options = { locale, sizes, check, fullPage: true, refusals: true };
    const pages = (all) =>
      Object.fromEntries(Object.entries(all).map(([name, page]) => [`console-${name}${locale === 'en' ? '' : `-${locale}`}`, page]));
    await checkPages(pages({ door: ['/console', id('door')] }), options);
    await checkPages(
      pages({
        agents: ['/console', id('my-agent')],
        new: ['/console/new', `#league-${league}`],
        keys: [`/console/agents/${pulling.id}`, id('key')],
        tokens: ['/console/tokens', id('token')],
        overview: [`/console/agents/${made.id}#overview`, id('lost-rounds')],
        play: [`/console/agents/${made.id}#play`, id('challenge')],
        settings: [`/console/agents/${made.id}#settings`, id('edit')],
        agent: [`/console/agents/${made.id}`, `${id('check')}[data-state="failed"]`],
      }),
      { ...options, kept: { 'arena.owner': token } },
    );
  }
  assert.equal((await send('DELETE', `/v1/agents/${made.id}`, undefined, token)).status, 204);
});

test('axe finds nothing serious in the console, and the keyboard alone walks through it', async () => {
  const { token } = await api('/v1/owners', { method: 'POST', body: { name: `owner ${once()}` } });
  await reachable([['/console', id('door')]]);
  await reachable(
    [
      ['/console', id('my-agents')],
      ['/console/new', `${id('register')} .tick`],
      ['/console/tokens', id('tokens')],
    ],
    { kept: { 'arena.owner': token } },
  );
});
