// Takes the pictures of docs/screens from a demo that has played for an hour:
//
//   arena demo --data DIR --speed 2            # for half an hour or more
//   ARENA_URL=… node web/scripts/docs-screens.mjs docs/screens
import { chromium } from 'playwright-core';

const [out] = process.argv.slice(2);
const origin = process.env.ARENA_URL;
if (!out || !origin) throw new Error('usage: ARENA_URL=http://127.0.0.1:8080 node docs-screens.mjs FOLDER');
const PATIENCE_MS = 120_000;
const get = async (path) => (await fetch(new URL(path, origin))).json();

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic'],
});

async function take(name, theme, path, ready) {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 }, colorScheme: theme, reducedMotion: 'reduce' });
  await page.goto(new URL(path, origin).href);
  await ready(page);
  await page.evaluate(() => document.fonts.ready);
  await page.screenshot({ path: `${out}/${name}-1440-${theme}.png`, animations: 'disabled' });
  await page.close();
}

const seen = (selector) => (page) => page.locator(selector).first().waitFor({ timeout: PATIENCE_MS });
async function live(league) {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await new Promise((next) => setTimeout(next, 250))) {
    const [match] = (await get(`/v1/matches?status=running&league=${league}&limit=1`)).items;
    if (match) return `/m/${match.match_id}`;
  }
  throw new Error(`no live match in ${league}`);
}

const best = (await get('/v1/leagues/trivia/standings')).items[0];
await take('lobby', 'dark', '/', seen('[data-testid="lobby"][data-ready="true"] [data-testid="stage"] .side'));
await take('league', 'light', '/l/trivia', seen('[data-testid="standings"]'));
await take('agent', 'dark', `/a/${best.agent_id}`, async (page) => {
  await seen('.uplot, [data-testid="rating-graph"]')(page);
  await page.waitForLoadState('networkidle'); // the parts beside it
});
await take('arena', 'dark', await live('last-one-standing'), seen('[data-testid="tile"][data-state="right"]:not(.placed)'));
await browser.close();
