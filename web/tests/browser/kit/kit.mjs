// What the browser tests share: Chromium, the API of the arena or recording that
// a file starts (kit/arena.mjs, kit/recording.mjs), pages that write down
// everything that should not happen on them.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { after, before } from 'node:test';
import { chromium } from 'playwright-core';

/** The arena or the recording of this file, and the token of the arena's admin. */
export let ORIGIN, ADMIN;
export const useSite = ({ origin, admin }) => ([ORIGIN, ADMIN] = [origin, admin]);
export const SCREENS = process.env.SCREENS_DIR;
export const PATIENCE = 180_000; // a whole match
export const WRONG = '0.5'; // never the value of a task: those are whole numbers
export const SIZES = [
  { width: 1440, height: 900 },
  { width: 390, height: 844 },
  { width: 360, height: 740 },
];
const THEMES = ['dark', 'light'];
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

if (!process.env.BROWSER_ENDPOINT) throw new Error('BROWSER_ENDPOINT is not set: run the tests with make test-browser');
if (SCREENS) mkdirSync(SCREENS, { recursive: true });

// run.mjs starts one browser for all files; each test has a context of its own in it.
let browser;
before(async () => (browser = await chromium.connect(process.env.BROWSER_ENDPOINT)));
after(() => browser?.close());

/** Asks as anybody, or with a token, for what must be given. */
export async function api(path, { token, body, ...init } = {}) {
  const res = await fetch(ORIGIN + path, {
    ...init,
    headers: { ...(body && { 'content-type': 'application/json' }), ...(token && { authorization: `Bearer ${token}` }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  assert.equal(res.ok, true, `${path}: ${res.status}`);
  return res.json();
}

/** Sends a body as JSON, for an answer of any kind; the token is the admin's when none is given. */
export const send = (method, path, body, token = ADMIN) =>
  fetch(ORIGIN + path, {
    method,
    headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

export const id = (name) => `[data-testid="${name}"]`;

/** A page that writes down everything that should not happen on it. kept is put into the tab's storage; with refusals, an answer of 4xx is part of the test; with auto, the next live match follows one that ends.
 *  Without a path the page is blank. go opens another address in the same tab; settled waits until the page shows what is ready, has all it asked for, its fonts too, and has drawn it. */
export async function open(
  path,
  { width = 1440, height = 900, theme = 'dark', origin = ORIGIN, kept = {}, refusals = false, auto = false, ...options } = {},
) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, locale: 'en', ...options });
  await context.addInitScript((items) => Object.entries(items).forEach(([key, value]) => sessionStorage.setItem(key, value)), kept);
  // A frame of another site may have no storage.
  if (!auto)
    await context.addInitScript(() => window === top && location.protocol.startsWith('http') && localStorage.setItem('arena.next', 'off'));
  const page = await context.newPage();
  const close = async () => {
    await page.unrouteAll({ behavior: 'ignoreErrors' }); // handlers that wait for the arena
    await context.close();
  };
  const faults = [];
  page.on(
    'console',
    (m) =>
      ['error', 'warning'].includes(m.type()) && !(refusals && /status of 4\d\d/.test(m.text())) && faults.push(`${m.type()}: ${m.text()}`),
  );
  page.on('pageerror', (e) => faults.push(`threw: ${e.message}`));
  page.on('dialog', (d) => (faults.push(`dialog: ${d.message()}`), d.dismiss()));
  page.on('request', (r) => r.url().startsWith(origin) || r.url().startsWith('data:') || faults.push(`foreign request: ${r.url()}`));
  page.on('framenavigated', (f) => /arena_|token=/.test(f.url()) && faults.push(`token in an address: ${f.url()}`));
  const settle = requests(page);
  const go = (to) => page.goto(origin + to);
  if (path) await go(path);
  return {
    page,
    faults,
    go,
    close,
    settled: async (ready) => {
      await page.locator(ready).first().waitFor();
      await settle();
      await page.evaluate(async () => {
        await document.fonts.ready;
        await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
      });
    },
  };
}

/** Counts the requests of a page; what it returns waits until none is open. */
function requests(page) {
  const open = new Set();
  const waiting = [];
  page.on('request', (r) => {
    if (r.isNavigationRequest() && r.frame() === page.mainFrame()) open.clear();
    if (r.resourceType() !== 'eventsource') open.add(r);
  });
  const over = (r) => {
    open.delete(r);
    if (open.size === 0) waiting.splice(0).forEach((done) => done());
  };
  page.on('requestfinished', over);
  page.on('requestfailed', over);
  return () => new Promise((done) => (open.size === 0 ? done() : waiting.push(done)));
}

/** Lets a page read what change makes of the JSON at an address. */
export const rewrite = (page, address, change) =>
  page.route(address, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: await change(await response.json()) });
  });

/** Lets a page read what change makes of the lobby, and hear of no match by its stream. */
export async function restage(page, change) {
  await rewrite(page, '**/v1/lobby', change);
  await page.routeWebSocket(
    (url) => url.searchParams.has('lobby'),
    () => undefined,
  );
}

/** Maps every element of a selector in one task of the page. Playwright's evaluateAll takes two: a row that the page replaces between them has no style and no place. */
export const mapAll = (page, selector, map) => page.evaluate(`[...document.querySelectorAll(${JSON.stringify(selector)})].map(${map})`);

let names = 0;
/** Part of a name that no other test takes, and that looks like no other. */
export const once = () => `${process.pid}-${++names}`;

/** An agent's server: in the league that agent.league names, healthy unless agent.healthy is false, and answering the text of a task (and the headers of its request) as it is told to, at once or when it comes to it: an object as JSON, a text as a page; undefined keeps it silent. */
export async function fake(t, answer = () => undefined) {
  const agent = { league: '', healthy: true, tasks: 0 };
  const server = createServer((req, res) => {
    const parts = [];
    req
      .on('data', (part) => parts.push(part))
      .on('end', async () => {
        res.setHeader('Content-Type', 'application/json');
        if (req.method === 'GET')
          return res.end(JSON.stringify({ status: agent.healthy ? 'ok' : 'tired', version: '1.0', capabilities: [agent.league] }));
        agent.tasks++;
        const reply = await answer(Buffer.concat(parts).toString(), req.headers);
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
  const { token } = await api('/v1/owners', { method: 'POST', body: { name: `owner ${once()}` } });
  const made = await api('/v1/agents', { method: 'POST', token, body });
  return { id: made.agent_id, name: made.name, token };
}

/** Two agents of two owners, healthy, called as called makes their names, that play the league, or none. */
export async function pair(t, league = '', answer, called = (name) => `${name} <b> ${once()}`) {
  return Promise.all(
    ['Silent', 'Quiet'].map(async (name) => {
      const agent = Object.assign(await fake(t, answer), { league });
      const made = await register({ name: called(name), endpoint: agent.endpoint, leagues: league ? [league] : [] });
      await api(`/v1/agents/${made.id}/check`, { method: 'POST', token: made.token });
      return made;
    }),
  );
}

/** A duel of arithmetic in a league of its own; from a round on nobody answers before letGo is called. */
export async function heldDuel(t, title, from, settings) {
  const slug = `${title.toLowerCase()}-${once()}`;
  const league = { slug, title, generator: { name: 'arithmetic' }, judge: 'number', ...settings };
  assert.equal((await send('POST', '/v1/leagues', league)).status, 201);
  let letGo;
  const gone = new Promise((resolve) => (letGo = resolve));
  const agents = await pair(t, slug, async (task) => {
    if (JSON.parse(task).round >= from) await gone;
    return { answer: WRONG };
  });
  const { match_id } = await api('/v1/matches', { method: 'POST', token: ADMIN, body: { league: slug, agents: agents.map((a) => a.id) } });
  return { match_id, letGo };
}

/** Events made up by a test, as lines of a log: numbered, and a second apart. */
export const logOf = (events) =>
  events.map((e, i) => JSON.stringify({ seq: i + 1, match_id: 'm_1', ts: new Date(Date.UTC(2026, 10, 21, 18, 0, i)).toISOString(), ...e }));

/** Gives the open replay page a file of these lines. */
export const chooseLog = (page, lines, name = 'match.jsonl') =>
  page.locator(id('replay-file')).setInputFiles({ name, mimeType: 'application/x-ndjson', buffer: Buffer.from(lines.join('\n')) });

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

/** Waits until a locator counts so many; why says what else would be wrong. What a page shows first need not be what stays. */
export const counted = (locator, many, why = locator) => until(`count of ${many}: ${why}`, async () => (await locator.count()) === many);

/** Types a name into a search field and waits for the one row that has it: before the answer, rows move. */
export async function search(page, field, name, rows) {
  await page.locator(field).fill(name);
  await counted(page.locator(rows), 1, `${name} alone`);
}

/** Opens or folds a section of the form of a league. */
export const unfold = (page, section) => page.locator(`${id(`section-${section}`)} summary`).click();

/** Finds an agent by its name in a list of agents to tick, and ticks it. */
export async function pick(page, field, agent) {
  const picker = `${id('picker')}[data-field="${field}"]`;
  await search(page, `${picker} [name="${field}-find"]`, agent.name, `${picker} [type="checkbox"]:not(:checked)`);
  await page.locator(`${picker} [value="${agent.id}"]`).check();
}

/** Opens pages at every size, in both themes, and saves screenshots to SCREENS_DIR. A page is [address, what is there when it is ready, what to scroll to].
 *  It is loaded once for desks and once for phones; the theme, and the width of the phone, change under it, as the system's do.
 *  check makes further checks of a page at a size, and knows whether only the theme has changed. The other options are those of open. */
export async function checkPages(pages, { sizes = SIZES, check, fullPage = false, ...options } = {}) {
  const { page, faults, go, settled, close } = await open('', options);
  const phone = (size) => size?.width < 640;
  for (const [name, [path, ready, place]] of Object.entries(pages)) {
    for (const [n, size] of sizes.entries()) {
      const themes = n % 2 ? THEMES.toReversed() : THEMES;
      await page.emulateMedia({ colorScheme: themes[0] });
      await page.setViewportSize(size);
      if (n === 0 || phone(size) !== phone(sizes[n - 1])) {
        await go(path);
        await settled(ready);
      }
      for (const theme of themes) {
        await page.emulateMedia({ colorScheme: theme });
        if (place) await page.locator(place).first().scrollIntoViewIfNeeded();
        await fits(page, `${name} at ${size.width}`);
        await check?.(page, name, theme !== themes[0]);
        assert.deepEqual(faults, [], `${name} at ${size.width}, ${theme}`);
        if (SCREENS && size.width !== 360)
          await page.screenshot({ path: `${SCREENS}/${name}-${size.width}-${theme}.png`, animations: 'disabled', fullPage });
      }
    }
  }
  await close();
}

/** What axe finds in a part of a page that keeps someone out, one line each; with recolored, what a theme may have changed alone. */
export async function grave(page, { within = 'html', recolored = false } = {}) {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(AXE);
  const found = await page.evaluate(
    async ([part, rules]) =>
      (await window.axe.run(part, { resultTypes: ['violations'], ...(rules && { runOnly: { type: 'rule', values: rules } }) })).violations,
    [within, recolored && ['color-contrast', 'link-in-text-block']],
  );
  return found
    .filter((v) => ['serious', 'critical'].includes(v.impact))
    .map(
      (v) =>
        `${v.id}: ${v.help}: ${v.nodes
          .slice(0, 3)
          .map((n) => `${n.target.join(' ')} (${n.any[0]?.message ?? n.all[0]?.message ?? ''})`)
          .join('; ')}`,
    );
}

/** Fails when a page is wider than its window, and names what sticks out of it. */
export async function fits(page, name) {
  const over = await page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    if (scrollWidth <= clientWidth) return [];
    const out = [...document.body.querySelectorAll('*')].filter((e) => e.getBoundingClientRect().right > clientWidth + 0.5);
    return [
      `${scrollWidth - clientWidth} px`,
      ...out.map((e) => `${e.tagName}.${e.className} ${Math.round(e.getBoundingClientRect().right)}: ${e.textContent.slice(0, 60)}`),
    ];
  });
  assert.deepEqual(over, [], `${name} is too wide`);
}

/** Opens pages, each [address, what is there when it is ready], in one tab. */
export async function everyPage(pages, options, check) {
  const tab = await open('', { reducedMotion: 'reduce', ...options });
  for (const [path, ready] of pages) {
    await tab.go(path);
    await tab.page.locator(ready).first().waitFor();
    await check(tab, path);
  }
  await tab.close();
}

/** Fails unless axe finds nothing serious on pages, in either theme, and the keyboard alone walks through them and is always seen. */
export const reachable = (pages, options) => accessible(pages, options, walk);

/** Fails when axe finds something serious on a page in either theme; then does more with each page. */
export async function accessible(pages, options, more = () => {}) {
  const wrong = [];
  await everyPage(pages, options, async ({ page }, path) => {
    for (const theme of ['light', 'dark']) {
      // less motion: colors change at once
      await page.emulateMedia({ colorScheme: theme });
      for (const line of await grave(page, { recolored: theme === 'dark' })) wrong.push(`${path} (${theme}): ${line}`);
    }
    await more(page, path);
  });
  assert.deepEqual(wrong, []);
}

/** Presses Tab from the top of a page that has just come. */
async function walk(page, path) {
  const seen = new Set();
  for (let i = 0; i < 14; i++) {
    await page.keyboard.press('Tab');
    const at = await page.evaluate(() => {
      const e = document.activeElement;
      if (!e || e === document.body) return undefined;
      const style = getComputedStyle(e);
      const box = e.getBoundingClientRect();
      return {
        what: `${e.tagName} ${e.getAttribute('href') ?? e.getAttribute('name') ?? e.getAttribute('aria-label') ?? e.textContent?.slice(0, 20)}`,
        ring: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0,
        there: box.width > 0 && box.height > 0,
      };
    });
    if (!at) break; // the end of the page
    assert.ok(at.ring && at.there, `${path}: focus on ${at.what} cannot be seen`);
    seen.add(at.what);
  }
  assert.ok(seen.size >= 6, `${path}: only ${[...seen].join(', ')} can be reached`);
}
