// What the browser tests share: Chromium, the arena's API, pages that write
// down everything that should not happen on them.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { after, before } from 'node:test';
import { chromium } from 'playwright-core';

export const ORIGIN = process.env.ARENA_URL?.replace(/\/$/, '');
export const ADMIN = process.env.ARENA_ADMIN_TOKEN;
export const SCREENS = process.env.SCREENS_DIR;
export const PATIENCE = 180_000; // a whole match
const SIZES = [{ width: 1440, height: 900 }, { width: 390, height: 844 }, { width: 360, height: 740 }];
const THEMES = ['dark', 'light'];

if (!ORIGIN || !process.env.BROWSER_ENDPOINT) throw new Error('ARENA_URL or BROWSER_ENDPOINT is not set: run the tests with make test-browser');
if (SCREENS) mkdirSync(SCREENS, { recursive: true });

// run.mjs starts one browser for all files; each test has a context of its own in it.
let browser;
before(async () => (browser = await chromium.connect(process.env.BROWSER_ENDPOINT)));
after(() => browser?.close());

/** Asks as anybody, or with a token, for what must be given. */
export async function api(path, { token, body, ...init } = {}) {
  const res = await fetch(ORIGIN + path, {
    ...init, headers: { ...(body && { 'content-type': 'application/json' }), ...(token && { authorization: `Bearer ${token}` }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  assert.equal(res.ok, true, `${path}: ${res.status}`);
  return res.json();
}

/** Sends a body as JSON, for an answer of any kind; the token is the admin's when none is given. */
export const send = (method, path, body, token = ADMIN) =>
  fetch(ORIGIN + path, {
    method, headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

export const id = (name) => `[data-testid="${name}"]`;

/** A page that writes down everything that should not happen on it. kept is put into the tab's storage; with refusals, an answer of 4xx is part of the test. */
export async function open(path, { width = 1440, height = 900, theme = 'dark', origin = ORIGIN, kept = {}, refusals = false, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, locale: 'en', ...options });
  await context.addInitScript((items) => Object.entries(items).forEach(([key, value]) => sessionStorage.setItem(key, value)), kept);
  const page = await context.newPage();
  const faults = [];
  page.on('console', (m) => ['error', 'warning'].includes(m.type()) && !(refusals && /status of 4\d\d/.test(m.text())) && faults.push(`${m.type()}: ${m.text()}`));
  page.on('pageerror', (e) => faults.push(`threw: ${e.message}`));
  page.on('dialog', (d) => (faults.push(`dialog: ${d.message()}`), d.dismiss()));
  page.on('request', (r) => r.url().startsWith(origin) || r.url().startsWith('data:') || faults.push(`foreign request: ${r.url()}`));
  page.on('framenavigated', (f) => /arena_|token=/.test(f.url()) && faults.push(`token in an address: ${f.url()}`));
  await page.goto(origin + path);
  return { page, faults, close: () => context.close() };
}

/** Maps every element of a selector in one task of the page. Playwright's evaluateAll takes two: a row that the page replaces between them has no style and no place. */
export const mapAll = (page, selector, map) => page.evaluate(`[...document.querySelectorAll(${JSON.stringify(selector)})].map(${map})`);

/** An agent's server: in the league that agent.league names, healthy unless agent.healthy is false, and answering the text of a task as it is told to, at once or when it comes to it: an object as JSON, a text as a page; undefined keeps it silent. */
export async function fake(t, answer = () => undefined) {
  const agent = { league: '', healthy: true, tasks: 0 };
  const server = createServer((req, res) => {
    const parts = [];
    req.on('data', (part) => parts.push(part)).on('end', async () => {
      res.setHeader('Content-Type', 'application/json');
      if (req.method === 'GET') return res.end(JSON.stringify({ status: agent.healthy ? 'ok' : 'tired', version: '1.0', capabilities: [agent.league] }));
      agent.tasks++;
      const reply = await answer(Buffer.concat(parts).toString());
      if (typeof reply !== 'string') return reply === undefined ? undefined : res.end(JSON.stringify(reply));
      res.setHeader('Content-Type', 'text/html');
      return res.end(reply);
    });
  });
  await new Promise((r) => server.listen(0, '127.0.0.1', r));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  agent.endpoint = `http://127.0.0.1:${server.address().port}/agora`;
  return agent;
}

/** Registers an agent as a new owner does. */
export async function register(body) {
  const { token } = await api('/v1/owners', { method: 'POST', body: { name: `owner ${Date.now().toString(36)}` } });
  const made = await api('/v1/agents', { method: 'POST', token, body });
  return { id: made.agent_id, name: made.name, token };
}

/** Two agents of two owners that play the league, healthy. */
export async function pair(t, league, answer) {
  return Promise.all(['Silent', 'Quiet'].map(async (name) => {
    const agent = Object.assign(await fake(t, answer), { league });
    const made = await register({ name: `${name} <b> ${Date.now().toString(36)}`, endpoint: agent.endpoint, leagues: [league] });
    await api(`/v1/agents/${made.id}/check`, { method: 'POST', token: made.token });
    return made;
  }));
}

/** A duel of arithmetic in a league of its own; from a round on nobody answers before letGo is called. */
export async function heldDuel(t, title, from, settings) {
  const slug = `${title.toLowerCase()}-${Date.now().toString(36)}`;
  const league = { slug, title, generator: { name: 'arithmetic' }, judge: 'number', ...settings };
  assert.equal((await send('POST', '/v1/leagues', league)).status, 201);
  let letGo;
  const gone = new Promise((resolve) => (letGo = resolve));
  const agents = await pair(t, slug, async (task) => {
    if (JSON.parse(task).round >= from) await gone;
    return { answer: '1' };
  });
  const { match_id } = await api('/v1/matches', { method: 'POST', token: ADMIN, body: { league: slug, agents: agents.map((a) => a.id) } });
  return { match_id, letGo };
}

/** Asks again until there is something; a timing decides nothing but giving up. */
export async function until(what, find, patience = 60_000) {
  const end = Date.now() + patience;
  for (;;) {
    const found = await find();
    if (found) return found;
    assert.ok(Date.now() < end, `there is no ${what}`);
    await new Promise((r) => setTimeout(r, 300));
  }
}

/** Looks at pages at every size in both themes, and keeps their pictures where SCREENS_DIR says: [address, what is there when it is ready, what to scroll to].
 *  A page comes anew at every size; there the theme changes under it, as the system's does. Pages come in the dark and in the light. */
export async function look(pages, origin = ORIGIN, kept = {}) {
  for (const [name, [path, ready, place]] of Object.entries(pages)) {
    const { page, faults, close } = await open(path, { ...SIZES[0], theme: THEMES[0], origin, kept });
    for (const [n, size] of SIZES.entries()) {
      if (n > 0) {
        await page.setViewportSize(size);
        await page.goto(origin + path);
      }
      await page.locator(ready).first().waitFor();
      await page.evaluate(() => document.fonts.ready);
      await page.waitForLoadState('networkidle').catch(() => {});
      for (const theme of n % 2 ? THEMES.toReversed() : THEMES) {
        await page.emulateMedia({ colorScheme: theme });
        if (place) await page.locator(place).first().scrollIntoViewIfNeeded();
        const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        assert.ok(over <= 0, `${name} is ${over} px too wide at ${size.width}`);
        assert.deepEqual(faults, [], `${name} at ${size.width}, ${theme}`);
        if (SCREENS && size.width !== 360) await page.screenshot({ path: `${SCREENS}/${name}-${size.width}-${theme}.png`, animations: 'disabled' });
      }
    }
    await close();
  }
}
