// What the page of a match of 128 seats costs the reader's browser, while the
// agents report 1,000 events a second: the real binary, real agents on this
// machine, headless Chromium. It prints what it measured and judges nothing.
// Busy is processor time of the page's main thread, so that other work on the
// machine does not count; tasks are measured by the clock, where it does.
//
//   ARENA_URL=… ARENA_ADMIN_TOKEN=… [SECONDS=30] [RATE=1000] [SEATS=128] node tests/bench/page.mjs
import { createServer } from 'node:http';
import { loadavg } from 'node:os';
import { chromium } from 'playwright-core';

const ORIGIN = process.env.ARENA_URL?.replace(/\/$/, '');
const ADMIN = process.env.ARENA_ADMIN_TOKEN;
const number = (name, otherwise) => Number(process.env[name] ?? otherwise);
const SECONDS = number('SECONDS', 30);
const RATE = number('RATE', 1000);
const SEATS = number('SEATS', 128);
if (!ORIGIN || !ADMIN) throw new Error('ARENA_URL or ARENA_ADMIN_TOKEN is not set');
const TALK_S = SECONDS + 20; // beyond the time that is measured
const sleep = (ms) => new Promise((r) => setTimeout(r, ms));

async function send(method, path, token, body) {
  for (;;) {
    const res = await fetch(ORIGIN + path, { method, headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) }, ...(body && { body: JSON.stringify(body) }) });
    if (res.status === 429) {
      await sleep(1000 * Number(res.headers.get('retry-after') ?? 1));
      continue;
    }
    if (!res.ok) throw new Error(`${method} ${path}: ${res.status} ${await res.text()}`);
    return res.status === 204 ? undefined : res.json();
  }
}

// One server plays all agents: a seat is a path. It reports while it works, a
// batch a second, and answers when the measurement is over.
const slug = `page-bench-${Date.now().toString(36)}`;
let reported = 0;
let refused = 0;
const WORDS = ['What is asked is a year, so dates come first.', 'Two sources say the same; a third would settle it.', 'The obvious answer is a trap: look at the units.', 'Checking the sum once more before it counts.'];
function events(n, i) {
  const lines = [];
  for (let k = 0; k < n; k++) {
    const at = (i + k) % 6;
    lines.push(JSON.stringify(at === 0 ? { type: 'tool_call', tool: 'search', args: { q: `query ${i}` } } : at === 1 ? { type: 'tool_response', tool: 'search', result: 'three hits', duration_ms: 40 } : { type: 'thinking', message: WORDS[(i + k) % WORDS.length] }));
  }
  return lines.join('\n') + '\n';
}
async function talk(token, seat) {
  const perSecond = RATE / SEATS;
  await sleep(1000 * (seat / SEATS)); // not all in the same moment
  const start = Date.now();
  for (let sent = 0; Date.now() - start < TALK_S * 1000;) {
    const due = Math.floor(((Date.now() - start) / 1000 + 1) * perSecond);
    if (due > sent) {
      const res = await fetch(`${ORIGIN}/v1/stream`, { method: 'POST', headers: { authorization: `Bearer ${token}`, 'content-type': 'application/x-ndjson' }, body: events(due - sent, sent) }).catch(() => undefined);
      if (res?.ok) reported += due - sent;
      else refused += due - sent;
      await res?.body?.cancel();
      sent = due;
    }
    await sleep(1000);
  }
}
const server = createServer((req, res) => {
  req.resume().on('end', async () => {
    res.setHeader('Content-Type', 'application/json');
    if (req.method === 'GET') return res.end(JSON.stringify({ status: 'ok', version: '1.0', capabilities: [slug], max_concurrent: 1 }));
    await talk(req.headers.authorization.replace(/^Bearer /, ''), Number(/\/(\d+)/.exec(req.url)?.[1] ?? 0));
    res.end(JSON.stringify({ answer: '4' }));
  });
});
server.requestTimeout = 0;
await new Promise((r) => server.listen(0, '127.0.0.1', r));

await send('POST', '/v1/leagues', ADMIN, {
  slug, title: 'Page bench', generator: { name: 'arithmetic' }, judge: 'number', format: 'elimination', rounds: 1, time_limit_seconds: TALK_S + 60,
  min_seats: 3, max_seats: 128, rated: false, visibility: 'live',
});
const { token } = await send('POST', '/v1/owners', '', { name: 'page bench' });
const agents = [];
for (let i = 0; i < SEATS; i++) {
  const a = await send('POST', '/v1/agents', token, { name: `Bench ${i}`, endpoint: `http://127.0.0.1:${server.address().port}/${i}`, leagues: [slug] });
  agents.push(a.agent_id);
}
const { match_id: match } = await send('POST', '/v1/matches', ADMIN, { league: slug, agents, rated: false });

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
try {
  const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
  await page.addInitScript(() => {
    window.tasks = [];
    new PerformanceObserver((list) => list.getEntries().forEach((e) => window.tasks.push({ at: e.startTime, ms: e.duration }))).observe({ type: 'longtask' });
  });
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Performance.enable', { timeDomain: 'threadTicks' });
  const metrics = async () => Object.fromEntries((await devtools.send('Performance.getMetrics')).metrics.map((m) => [m.name, m.value]));
  await page.goto(`${ORIGIN}/m/${match}`);
  await page.locator('[data-testid="match"][data-ready="true"]').waitFor({ timeout: 60_000 });
  await sleep(3_000); // the page has come
  const look = async () => ({ ...(await metrics()), ...(await page.evaluate(() => ({ seq: Number(document.querySelector('[data-testid="match"]').dataset.seq), now: performance.now() }))) });
  if (process.env.PROFILE) {
    await devtools.send('Profiler.enable');
    await devtools.send('Profiler.start');
  }
  const before = await look();
  const frames = page.evaluate((ms) => new Promise((done) => {
    let n = 0;
    const end = performance.now() + ms;
    const frame = () => (n++, performance.now() < end ? requestAnimationFrame(frame) : done(n));
    requestAnimationFrame(frame);
  }), SECONDS * 1000);
  const shown = await frames;
  const after = await look();
  const seconds = (after.now - before.now) / 1000;
  const part = (name) => `${(((after[name] - before[name]) / seconds) * 100).toFixed(1)} %`;
  const long = (await page.evaluate(() => window.tasks)).filter((t) => t.at >= before.now && t.at <= after.now);
  const longest = Math.max(0, ...long.map((t) => t.ms));
  console.log(`page of ${SEATS} seats over ${seconds.toFixed(1)} s, on a machine with load ${loadavg()[0].toFixed(1)}`);
  console.log(`  events shown     ${((after.seq - before.seq) / seconds).toFixed(0)}/s (agents reported ${reported}, ${refused} refused)`);
  console.log(`  main thread busy ${part('TaskDuration')} (wanted: under 60 %): script ${part('ScriptDuration')}, style ${part('RecalcStyleDuration')}, layout ${part('LayoutDuration')}`);
  console.log(`  longest task     ${longest.toFixed(0)} ms (wanted: at most 100), ${long.length} of 50 ms or more`);
  if (process.env.PROFILE) {
    const { profile } = await devtools.send('Profiler.stop');
    const own = new Map();
    profile.samples.forEach((id, i) => own.set(id, (own.get(id) ?? 0) + profile.timeDeltas[i]));
    const by = new Map();
    for (const n of profile.nodes) {
      const name = `${n.callFrame.functionName || '(anonymous)'} ${n.callFrame.url.split('/').pop()}:${n.callFrame.lineNumber}:${n.callFrame.columnNumber}`;
      by.set(name, (by.get(name) ?? 0) + (own.get(n.id) ?? 0));
    }
    [...by].sort((a, b) => b[1] - a[1]).slice(0, 25).forEach(([name, us]) => console.log(`  ${(us / 1000).toFixed(0).padStart(7)} ms  ${name}`));
  }
  console.log(`  frames           ${(shown / SECONDS).toFixed(0)}/s`);
} finally {
  await browser.close();
  await send('POST', `/v1/matches/${match}/void`, ADMIN, { reason: 'measured' }).catch(() => {});
  server.closeAllConnections();
  server.close();
}
process.exit(0);
