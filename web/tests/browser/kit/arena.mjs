// The real arenas of tests: each file that does more than look at pages starts its own.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { PATIENCE, until, useSite } from './kit.mjs';

const ARENA = fileURLToPath(new URL('../../../../bin/arena', import.meta.url));

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/** A folder and programs, all gone when the test that t is, or the file, is over. Settings of whoever runs the tests do not reach them. */
async function stage(t) {
  const folder = await mkdtemp(join(tmpdir(), 'arena-own-'));
  const children = [];
  t.after(async () => {
    for (const child of children.filter((c) => c.exitCode === null && c.signalCode === null)) {
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    }
    await rm(folder, { recursive: true, force: true });
  });
  const run = (program, args, options) => {
    const child = spawn(program, args, options);
    children.push(child);
    return child;
  };
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('ARENA_')));
  return { folder, run, env };
}

/** Starts a demo of its own for the file that calls it, with the few agents that its leagues need. */
export async function demo(agents = 8) {
  const { folder, run, env } = await stage({ after });
  const ready = join(folder, 'ready.json');
  const args = ['demo', '--addr', '127.0.0.1:0', '--data', join(folder, 'data'), '--ready-file', ready, '--agents', String(agents)];
  run(ARENA, args, { env, stdio: 'ignore' });
  const read = () =>
    readFile(ready, 'utf8').then(
      (text) => JSON.parse(text),
      () => undefined,
    );
  const { url, admin_token: admin } = await until('arena', read, PATIENCE);
  useSite({ origin: url, admin });
}

/**
 * Starts an arena without agents and returns its URL. prepare gets the URL and run,
 * which starts another program; it returns the settings. All programs end with the test.
 */
export async function serve(t, prepare) {
  const { folder, run, env } = await stage(t);
  const url = `http://127.0.0.1:${await freePort()}`;
  const settings = await prepare(url, run);
  Object.assign(
    env,
    {
      ARENA_ADDR: new URL(url).host,
      ARENA_PUBLIC_URL: url,
      ARENA_DATABASE_URL: `sqlite:${join(folder, 'arena.db')}`,
      ARENA_METRICS_ADDR: '',
    },
    settings,
  );
  run(ARENA, ['serve'], { env, stdio: 'ignore' });
  await until(
    'the arena',
    () =>
      fetch(`${url}/v1/signin`).then(
        (r) => r.ok,
        () => false,
      ),
    PATIENCE,
  );
  return url;
}
