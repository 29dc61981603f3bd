// What the page of a match of 128 seats costs the reader's browser, while the
// agents report 1,000 events a second: the real binary, real agents on this
// machine, headless Chromium. It prints what it measured, and whether that is
// within the budget; it ends with 0 either way. Busy is processor time of the
// page's main thread, so that other work on the machine counts little; tasks are
// measured by the clock, where it counts much.
//
//   ARENA_URL=… ARENA_ADMIN_TOKEN=… [SECONDS=30] [RATE=1000] [SEATS=128] node tests/bench/page.mjs [--json]
//
// PROFILE=1 adds the functions that took the longest. TRACE=FILE keeps a trace
// and adds what each thread did, and the longest tasks by processor time.
import { createServer } from 'node:http';
import { loadavg } from 'node:os';
import { chromium } from 'playwright-core';
import { CATEGORIES, print, printLongest } from './trace.mjs';

const ORIGIN = process.env.ARENA_URL?.replace(/\/$/, '');
const ADMIN = process.env.ARENA_ADMIN_TOKEN;
const number = (name, otherwise) => Number(process.env[name] ?? otherwise);
const SEATS = number('SEATS', 128); // 2 to 128: a duel, a table, a grid
const SECONDS = number('SECONDS', 30);
const RATE = number('RATE', 1000);
const JSON_ONLY = process.argv.includes('--json');
if (!ORIGIN || !ADMIN) throw new Error('ARENA_URL or ARENA_ADMIN_TOKEN is not set');
/** Events a second that an arena takes of one agent. */
const MOST = 20;
const COUNT_S = 5;
/** What is promised of the page; the longest task only of a machine that is not busy with other work. */
const BUDGET = { busyPercent: 60, longestMs: 100, shown: 0.95 };
const TALK_S = SECONDS + COUNT_S + 20; // beyond the time that is measured
const sleep = (ms) => new Promise((r) => setTimeout(r, ms));

async function send(method, path, token, body) {
  for (;;) {
    const res = await fetch(ORIGIN + path, {
      method,
      headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
      ...(body && { body: JSON.stringify(body) }),
    });
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
const WORDS = [
  'What is asked is a year, so dates come first.',
  'Two sources say the same; a third would settle it.',
  'The obvious answer is a trap: look at the units.',
  'Checking the sum once more before it counts.',
];
function events(n, i) {
  const lines = [];
  for (let k = 0; k < n; k++) {
    const at = (i + k) % 6;
    lines.push(
      JSON.stringify(
        at === 0
          ? { type: 'tool_call', tool: 'search', args: { q: `query ${i}` } }
          : at === 1
            ? { type: 'tool_response', tool: 'search', result: 'three hits', duration_ms: 40 }
            : { type: 'thinking', message: WORDS[(i + k) % WORDS.length] },
      ),
    );
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
      const res = await fetch(`${ORIGIN}/v1/stream`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/x-ndjson' },
        body: events(due - sent, sent),
      }).catch(() => undefined);
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
  slug,
  title: 'Page bench',
  generator: { name: 'arithmetic' },
  judge: 'number',
  format: SEATS > 2 ? 'elimination' : 'ladder',
  rounds: 1,
  time_limit_seconds: TALK_S + 60,
  min_seats: Math.min(3, SEATS),
  max_seats: SEATS > 2 ? 128 : 2,
  rated: false,
  visibility: 'live',
});
const { token } = await send('POST', '/v1/owners', '', { name: 'page bench' });
const agents = [];
for (let i = 0; i < SEATS; i++) {
  const a = await send('POST', '/v1/agents', token, {
    name: `Bench ${i}`,
    endpoint: `http://127.0.0.1:${server.address().port}/${i}`,
    leagues: [slug],
  });
  agents.push(a.agent_id);
}
const { match_id: match } = await send('POST', '/v1/matches', ADMIN, { league: slug, agents, rated: false });

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ],
});
try {
  const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
  await page.addInitScript(() => {
    window.tasks = [];
    new PerformanceObserver((list) => list.getEntries().forEach((e) => window.tasks.push({ at: e.startTime, ms: e.duration }))).observe({
      type: 'longtask',
    });
  });
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Performance.enable', { timeDomain: 'threadTicks' });
  const metrics = async () => Object.fromEntries((await devtools.send('Performance.getMetrics')).metrics.map((m) => [m.name, m.value]));
  await page.goto(`${ORIGIN}/m/${match}`);
  await page.locator('[data-testid="match"][data-ready="true"]').waitFor({ timeout: 60_000 });
  await sleep(3_000); // the page has come
  const whole = await browser.newBrowserCDPSession();
  const processor = async () => (await whole.send('SystemInfo.getProcessInfo')).processInfo.reduce((sum, p) => sum + p.cpuTime, 0);
  const sample = async () => ({
    ...(await metrics()),
    browser: await processor(),
    ...(await page.evaluate(() => ({ seq: Number(document.querySelector('[data-testid="match"]').dataset.seq), now: performance.now() }))),
  });
  if (process.env.PROFILE) {
    await devtools.send('Profiler.enable');
    await devtools.send('Profiler.start');
  }
  if (process.env.TRACE) await browser.startTracing(page, { path: process.env.TRACE, categories: CATEGORIES });
  const before = await sample();
  await sleep(SECONDS * 1000);
  const after = await sample();
  const trace = process.env.TRACE && JSON.parse(await browser.stopTracing());
  const seconds = (after.now - before.now) / 1000;
  const long = (await page.evaluate(() => window.tasks)).filter((t) => t.at >= before.now && t.at <= after.now);
  // Counting frames asks for them, which costs: not while the rest is measured.
  const frames = await page.evaluate(
    (ms) =>
      new Promise((done) => {
        let n = 0;
        const begin = performance.now();
        const frame = () => (
          n++,
          performance.now() < begin + ms ? requestAnimationFrame(frame) : done((n * 1000) / (performance.now() - begin))
        );
        requestAnimationFrame(frame);
      }),
    COUNT_S * 1000,
  );
  const share = (name) => Math.round(((after[name] - before[name]) / seconds) * 1000) / 10;
  const figures = {
    seats: SEATS,
    seconds,
    load: loadavg()[0],
    reported,
    refused,
    shown_per_second: (after.seq - before.seq) / seconds,
    busy_percent: share('TaskDuration'),
    script_percent: share('ScriptDuration'),
    style_percent: share('RecalcStyleDuration'),
    layout_percent: share('LayoutDuration'),
    browser_percent: share('browser'),
    longest_task_ms: Math.max(0, ...long.map((t) => t.ms)),
    long_tasks: long.length,
    draws_per_second: (after.RecalcStyleCount - before.RecalcStyleCount) / seconds,
    frames_per_second: frames,
  };
  const broken = [
    figures.busy_percent >= BUDGET.busyPercent && `busy ${figures.busy_percent} %`,
    figures.longest_task_ms > BUDGET.longestMs && `a task of ${figures.longest_task_ms.toFixed(0)} ms`,
    figures.shown_per_second < BUDGET.shown * Math.min(RATE, SEATS * MOST) && `${figures.shown_per_second.toFixed(0)} events/s shown`,
  ].filter(Boolean);
  if (JSON_ONLY) console.log(JSON.stringify({ ...figures, broken }));
  else {
    const f = figures;
    console.log(`page of ${SEATS} seats over ${seconds.toFixed(1)} s, on a machine with load ${f.load.toFixed(1)}`);
    console.log(`  events shown     ${f.shown_per_second.toFixed(0)}/s (agents reported ${reported}, ${refused} refused)`);
    console.log(
      `  main thread busy ${f.busy_percent} %: script ${f.script_percent} %, style ${f.style_percent} %, layout ${f.layout_percent} %`,
    );
    console.log(`  whole browser    ${f.browser_percent} % of a processor`);
    console.log(`  longest task     ${f.longest_task_ms.toFixed(0)} ms, ${f.long_tasks} of 50 ms or more`);
    console.log(`  drawn            ${f.draws_per_second.toFixed(0)} times/s; frames when asked for ${f.frames_per_second.toFixed(0)}/s`);
    console.log(
      `  budget           busy < ${BUDGET.busyPercent} %, no task over ${BUDGET.longestMs} ms, ${100 * BUDGET.shown} % of the events: ${broken.length ? `BROKEN by ${broken.join(', ')}` : 'kept'}`,
    );
  }
  if (trace && !JSON_ONLY) {
    print(trace, seconds);
    printLongest(trace);
  }
  if (process.env.PROFILE && !JSON_ONLY) {
    const { profile } = await devtools.send('Profiler.stop');
    const own = new Map();
    profile.samples.forEach((id, i) => own.set(id, (own.get(id) ?? 0) + profile.timeDeltas[i]));
    const by = new Map();
    for (const n of profile.nodes) {
      const name = `${n.callFrame.functionName || '(anonymous)'} ${n.callFrame.url.split('/').pop()}:${n.callFrame.lineNumber}:${n.callFrame.columnNumber}`;
      by.set(name, (by.get(name) ?? 0) + (own.get(n.id) ?? 0));
    }
    [...by]
      .sort((a, b) => b[1] - a[1])
      .slice(0, 25)
      .forEach(([name, us]) => console.log(`  ${(us / 1000).toFixed(0).padStart(7)} ms  ${name}`));
  }
} finally {
  await browser.close();
  await send('POST', `/v1/matches/${match}/void`, ADMIN, { reason: 'measured' }).catch(() => {});
  server.closeAllConnections();
  server.close();
}
process.exit(0);
