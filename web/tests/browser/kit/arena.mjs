// An arena of a test's own, beside the demo that the other tests share.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PATIENCE, until } from './kit.mjs';

const ARENA = fileURLToPath(new URL('../../../../bin/arena', import.meta.url));

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/**
 * Starts an arena with a database of its own and returns its URL. prepare gets the
 * URL and run, which starts another program; it returns the settings. All programs end
 * with the test.
 */
export async function serve(t, prepare) {
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
  const url = `http://127.0.0.1:${await freePort()}`;
  const settings = await prepare(url, run);
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('ARENA_')));
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
