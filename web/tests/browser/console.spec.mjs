// Walks through the owner's console of a running arena, in headless Chromium:
//
//   scripts/browser-test.sh console.spec.mjs
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ADMIN, api, fake, id, look, mapAll, open, ORIGIN, PATIENCE, register, SCREENS, send, SIZES } from './kit/kit.mjs';

const HOSTILE = '<script>alert(1)</script> no answer';
const once = () => Date.now().toString(36);

/** Signs up by keyboard alone and gives the token that was shown. */
async function signUp(page, name) {
  await page.locator(`${id('sign-up')} [name="name"]`).focus();
  await page.keyboard.type(name);
  await page.keyboard.press('Enter');
  const token = await page.locator(id('secret-token')).inputValue();
  await page.locator(id('kept')).focus();
  await page.keyboard.press('Enter');
  await page.locator(id('my-agents')).waitFor();
  return token;
}

/** An open or running league for two, and an agent of the demo that plays in it. */
async function stage() {
  const leagues = (await api('/v1/leagues')).items.filter((l) => l.min_seats <= 2 && l.format === 'ladder' && !l.debate && ['open', 'running'].includes(l.status));
  for (const league of leagues) {
    const opponent = (await api(`/v1/agents?league=${league.slug}&limit=100`)).items.find((a) => a.status === 'active');
    if (opponent) return { league: league.slug, opponent: opponent.agent_id };
  }
  throw new Error('no league with an agent in it');
}

test('an owner brings an agent from sign-up to its first delivery, and retires it', { timeout: 2 * PATIENCE }, async (t) => {
  const { league, opponent } = await stage();
  const agent = Object.assign(await fake(t, () => HOSTILE), { league, healthy: false });
  const name = `Fledgling ${once()}`;
  const { page, faults, close } = await open('/', { refusals: true });
  await page.locator('header a[href="/console"]').click();
  await page.locator(id('door')).waitFor();
  await signUp(page, `owner ${once()}`);

  // A refused form says what is wrong at the field, and focus is there.
  await page.locator('.console a[href="/console/new"]').first().click();
  const form = page.locator(id('register'));
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

  // Pause and resume.
  const room = page.locator(id('agent-room'));
  await room.waitFor();
  await page.locator(id('pause')).click();
  await page.locator(`${id('agent-room')}[data-status="paused"]`).waitFor();
  await page.locator(id('resume')).click();
  await page.locator(`${id('agent-room')}[data-status="active"]`).waitFor();

  // A match, and what was delivered in it.
  const agentId = page.url().split('/').pop();
  await api('/v1/matches', { method: 'POST', token: ADMIN, body: { league, agents: [agentId, opponent], rated: false } });
  await page.locator(`${id('delivery')}[data-outcome="invalid"]`).first().waitFor({ timeout: PATIENCE });
  await page.locator(id('cause')).selectOption('answered');
  await page.locator(id('delivery')).first().waitFor({ state: 'detached' });
  await page.locator(id('cause')).selectOption('invalid');
  await page.locator(`${id('delivery')} button`).first().click();
  assert.match(await page.locator(id('request')).textContent(), /"task_id"/);
  assert.equal(await page.locator(id('reply')).textContent(), HOSTILE);
  assert.equal(await page.locator('main script').count(), 0);
  if (SCREENS) await page.screenshot({ path: `${SCREENS}/console-agent-1440-dark.png`, fullPage: true });

  // Out of the league, a new version, and the end.
  const entry = page.locator(`${id('entry')}[data-league="${league}"]`);
  await entry.locator('button').click();
  await page.locator(`${id('entry')}[data-league="${league}"][data-entered="false"]`).waitFor();
  await page.locator(`${id('edit')} [name="version"]`).fill('2.0');
  await page.locator(`${id('edit')} button`).click();
  await page.locator(id('said'), { hasText: 'Saved' }).waitFor();
  assert.equal((await api(`/v1/agents/${agentId}`)).version, '2.0');
  const retire = page.locator(`${id('retire')} button`);
  assert.equal(await retire.isDisabled(), true);
  await page.locator(`${id('retire')} input`).fill(name);
  await retire.click();
  await page.locator(id('my-agents')).waitFor();
  assert.equal((await api(`/v1/agents/${agentId}`)).status, 'retired');
  assert.deepEqual(faults, []);
  await close();
});

test('the page of an agent shows its last full check', { timeout: PATIENCE }, async (t) => {
  const { league } = await stage();
  const agent = Object.assign(await fake(t, () => HOSTILE), { league });
  const { id: agent_id, token } = await register({ name: `Checked ${once()}`, endpoint: agent.endpoint, leagues: [league], version: '1' });
  await api(`/v1/agents/${agent_id}/check?full=true`, { method: 'POST', token });
  const { page, faults, close } = await open(`/a/${agent_id}`);
  const badge = page.locator(`${id('conformance')}[data-passed="false"]`);
  await badge.waitFor();
  assert.match(await badge.locator('summary').textContent(), /MUST \d+\/\d+ · SHOULD \d+\/\d+/);
  await badge.locator('summary').click();
  await badge.getByText('a task with a good token is answered').waitFor();
  assert.equal((await fetch(`${ORIGIN}/v1/agents/${agent_id}/badge.svg`)).headers.get('content-type'), 'image/svg+xml; charset=utf-8');
  assert.deepEqual(faults, []);
  await close();
});

test('a token lives in the tab, is shown once, and ends when it is revoked', async () => {
  const { page, faults, close } = await open('/console', { refusals: true });
  const first = await signUp(page, `owner ${once()}`);
  assert.deepEqual(await page.evaluate(() => [sessionStorage.getItem('arena.owner'), localStorage.getItem('arena.owner')]), [first, null]);
  await page.locator('.console a[href="/console/tokens"]').click();
  await page.locator(`${id('make-token')} [name="name"]`).fill('laptop');
  await page.locator(`${id('make-token')} button`).first().click();
  const second = await page.locator(id('secret-token')).inputValue();
  assert.equal((await api('/v1/me/tokens', { token: second })).items.length, 2);
  await page.getByRole('button', { name: 'Sign out' }).click();

  // Remembered: it outlives the tab.
  await page.locator(`${id('sign-in')} [name="token"]`).fill(second);
  await page.locator('#remember').check();
  await page.locator(`${id('sign-in')} button`).click();
  await page.locator(id('tokens')).waitFor();
  assert.deepEqual(await page.evaluate(() => [sessionStorage.getItem('arena.owner'), localStorage.getItem('arena.owner')]), [null, second]);
  await page.getByRole('button', { name: 'Revoke first', exact: true }).click();
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

test('the console fits a phone and a desk, in both themes and languages, and names its fields', async (t) => {
  const { league } = await stage();
  const agent = Object.assign(await fake(t), { league, healthy: false });
  const { token, ...made } = await register({ name: `Night ${once()} شبكة`, endpoint: agent.endpoint, leagues: [] });
  const check = async (page, name) => {
    // In one look: between two a field may come or go, and one that is gone has no label.
    const nameless = await page.evaluate(() => [...document.querySelectorAll('main :is(input, select, textarea)')].filter((e) => !e.labels?.length && !e.ariaLabel).map((e) => e.outerHTML));
    assert.deepEqual(nameless, [], name);
  };
  for (const [locale, sizes] of [['en', SIZES], ['es', [SIZES[0], SIZES.at(-1)]]]) {
    const options = { locale, sizes, check, fullPage: true, refusals: true };
    const pages = (all) => Object.fromEntries(Object.entries(all).map(([name, page]) => [`console-${name}${locale === 'en' ? '' : `-${locale}`}`, page]));
    await look(pages({ door: ['/console', id('door')] }), options);
    await look(pages({
      agents: ['/console', id('my-agent')],
      new: ['/console/new', `#league-${league}`],
      tokens: ['/console/tokens', id('token')],
      agent: [`/console/agents/${made.id}`, `${id('check')}[data-state="failed"]`],
    }), { ...options, kept: { 'arena.owner': token } });
  }
  assert.equal((await send('DELETE', `/v1/agents/${made.id}`, undefined, token)).status, 204);
});
