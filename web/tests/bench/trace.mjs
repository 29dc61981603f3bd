// What a DevTools trace says of a page: for each thread the time spent in each
// kind of work, without the work that it called. The file itself opens in
// Chromium's DevTools (Performance, Load profile) and in ui.perfetto.dev.

export const CATEGORIES = [
  'toplevel',
  'blink',
  'cc',
  'v8',
  'devtools.timeline',
  'disabled-by-default-devtools.timeline',
  'disabled-by-default-v8.gc',
  'benchmark',
];

/** Own processor time in µs by name of work, and how often; for one thread's complete events. */
export function selfTimes(events) {
  const time = (e) => e.tdur ?? e.dur ?? 0;
  const rows = new Map();
  const stack = [];
  const leave = () => {
    const { e, inner } = stack.pop();
    const row = rows.get(e.name) ?? { name: e.name, us: 0, n: 0 };
    row.us += Math.max(0, time(e) - inner);
    row.n++;
    rows.set(e.name, row);
    if (stack.length) stack.at(-1).inner += time(e);
  };
  for (const e of [...events].sort((a, b) => a.ts - b.ts || (b.dur ?? 0) - (a.dur ?? 0))) {
    while (stack.length && stack.at(-1).e.ts + (stack.at(-1).e.dur ?? 0) <= e.ts) leave();
    stack.push({ e, inner: 0 });
  }
  while (stack.length) leave();
  return [...rows.values()].sort((a, b) => b.us - a.us);
}

/** The threads of a trace that worked, the busiest first, each with its rows. */
export function threads(trace) {
  const names = new Map();
  const work = new Map();
  for (const e of trace.traceEvents) {
    const key = `${e.pid}/${e.tid}`;
    if (e.ph === 'M' && e.name === 'thread_name') names.set(key, e.args.name);
    if (e.ph === 'X') (work.get(key) ?? work.set(key, []).get(key)).push(e);
  }
  return [...work]
    .map(([key, events]) => {
      const rows = selfTimes(events);
      return { name: names.get(key) ?? key, us: rows.reduce((sum, r) => sum + r.us, 0), rows, events };
    })
    .sort((a, b) => b.us - a.us);
}

/** Prints where the time went, in percent of the seconds that were traced. */
export function print(trace, seconds, most = 25) {
  const part = (us) => `${(us / seconds / 10_000).toFixed(2).padStart(7)} %`;
  for (const { name, us, rows } of threads(trace).filter((t) => t.us > seconds * 10_000)) {
    console.log(`${part(us)}  thread ${name}`);
    for (const row of rows.slice(0, most).filter((r) => r.us > seconds * 1_000))
      console.log(`  ${part(row.us)}  ${String(row.n).padStart(7)}×  ${row.name}`);
  }
}

/** Prints the tasks that took the page's main thread the longest, by processor time, and what was done in them. */
export function printLongest(trace, most = 3) {
  const page = threads(trace).find((t) => t.name === 'CrRendererMain');
  const tasks = page.events
    .filter((e) => e.name === 'RunTask' && e.tdur)
    .sort((a, b) => b.tdur - a.tdur)
    .slice(0, most);
  for (const task of tasks) {
    const inside = selfTimes(page.events.filter((e) => e.ts >= task.ts && e.ts + (e.dur ?? 0) <= task.ts + task.dur));
    console.log(
      `  a task of ${(task.tdur / 1000).toFixed(0)} ms: ${inside
        .slice(0, 6)
        .map((r) => `${r.name} ${(r.us / 1000).toFixed(1)}`)
        .join(', ')}`,
    );
  }
}
