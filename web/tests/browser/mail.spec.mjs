// Confirms an address and re-issues a lost token with the links of real mails, at an arena of its own:
//
//   scripts/browser-test.sh mail.spec.mjs
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { fits, id, open, PATIENCE, SCREENS, until } from './kit/kit.mjs';

const ARENA = fileURLToPath(new URL('../../../bin/arena', import.meta.url));
const SMTP = fileURLToPath(new URL('../../../arena/mail/mailtest/server.py', import.meta.url));
const python = ['python3', '/usr/bin/python3'].find((name) => spawnSync(name, ['-c', 'import aiosmtpd']).status === 0);
const required = (process.env.ARENA_TEST_REQUIRE ?? '').split(',').includes('smtp');

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/** An arena and its SMTP server, ended with the test. link returns the link of the next mail. */
async function stage(t) {
  const folder = await mkdtemp(join(tmpdir(), 'arena-mail-'));
  const children = [];
  t.after(async () => {
    for (const child of children.filter((c) => c.exitCode === null && c.signalCode === null)) {
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    }
    await rm(folder, { recursive: true, force: true });
  });
  const smtp = spawn(python, ['-W', 'ignore', SMTP, '{}'], { stdio: ['pipe', 'pipe', 'ignore'] });
  children.push(smtp);
  const lines = createInterface(smtp.stdout)[Symbol.asyncIterator]();
  const { port } = JSON.parse((await lines.next()).value);
  const url = `http://127.0.0.1:${await freePort()}`;
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('ARENA_')));
  Object.assign(env, {
    ARENA_ADDR: new URL(url).host, ARENA_PUBLIC_URL: url, ARENA_DATABASE_URL: `sqlite:${join(folder, 'arena.db')}`, ARENA_METRICS_ADDR: '',
    ARENA_SMTP: `smtp://127.0.0.1:${port}`, ARENA_MAIL_FROM: 'arena@example.org',
  });
  children.push(spawn(ARENA, ['serve'], { env, stdio: 'ignore' }));
  await until('the arena', () => fetch(`${url}/v1/signin`).then((r) => r.ok, () => false), PATIENCE);
  const link = async () => {
    const text = JSON.parse((await lines.next()).value).data.replaceAll(/=\r?\n/g, ''); // quoted-printable
    return /\/console\/(?:confirm|reset)#[\w-]+/.exec(text)[0];
  };
  return { url, link };
}

test('an owner confirms an address, and gets a new token by mail', { timeout: PATIENCE, skip: !python && !required && 'no aiosmtpd' }, async (t) => {
  const { url, link } = await stage(t);
  const { page, go, close, faults } = await open('', { origin: url });
  t.after(() => (page.isClosed() ? undefined : close()));
  const shot = async (name) => {
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 900 });
      await fits(page, `${name} ${width}`);
      if (SCREENS) await page.screenshot({ path: `${SCREENS}/${name}-${width}-dark.png`, fullPage: true });
    }
  };
  await go('/console');
  const up = page.locator(id('sign-up'));
  await up.locator('[name="name"]').fill('Kim');
  await up.locator('[name="email"]').fill('kim@example.org');
  await up.locator('button').click();
  const old = await page.locator(id('secret-token')).inputValue();
  await page.locator(id('kept')).click();
  await page.locator('a[href="/console/account"]').click();
  await page.locator(id('email-open')).waitFor();
  await shot('account-email');
  await page.locator(id('confirm-again')).click();
  await page.locator(`${id('confirm-again')}:disabled`).waitFor();
  await link();
  await go(await link()); // the second mail: both work, once
  await shot('mail-confirm');
  await page.locator(id('use-link')).click();
  await page.locator(id('confirmed')).waitFor();
  assert.equal(new URL(page.url()).hash, '');
  await go('/console/account');
  await page.locator(`${id('mails')}[data-confirmed="true"]`).waitFor();
  await page.locator('#mail-pauses').uncheck();
  await page.locator('#mail-pauses:enabled').waitFor();
  await page.reload();
  await page.locator('#mail-pauses:not(:checked)').waitFor();

  // The token is lost.
  await page.locator(id('sign-out')).click();
  const lost = page.locator(id('lost-token'));
  await lost.locator('summary').click();
  await shot('lost-token');
  await lost.locator('[name="email"]').fill('kim@example.org');
  await lost.locator('button').click();
  await page.locator(id('reset-asked')).waitFor();
  await go(await link());
  await shot('mail-reset');
  await page.locator(id('use-link')).click();
  const fresh = await page.locator(id('secret-token')).inputValue();
  assert.notEqual(fresh, old);
  await page.locator(id('kept')).click();
  await page.locator(id('sign-out')).waitFor();
  const me = (token) => fetch(`${url}/v1/me`, { headers: { authorization: `Bearer ${token}` } }).then((r) => r.status);
  assert.deepEqual([await me(old), await me(fresh)], [401, 200]);
  assert.deepEqual(faults, []);
});
