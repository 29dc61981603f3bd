// Confirms an address and re-issues a lost token with the links of real mails, at an arena of its own:
//
//   scripts/browser-test.sh mail.spec.mjs
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { serve } from './kit/arena.mjs';
import { fits, id, open, PATIENCE, SCREENS } from './kit/kit.mjs';

const SMTP = fileURLToPath(new URL('../../../internal/mail/mailtest/server.py', import.meta.url));
const python = ['python3', '/usr/bin/python3'].find((name) => spawnSync(name, ['-c', 'import aiosmtpd']).status === 0);
const required = (process.env.ARENA_TEST_REQUIRE ?? '').split(',').includes('smtp');

/** An arena and its SMTP server, ended with the test. link returns the link of the next mail. */
async function stage(t) {
  let lines;
  const url = await serve(t, async (_, run) => {
    lines = createInterface(run(python, ['-W', 'ignore', SMTP, '{}'], { stdio: ['pipe', 'pipe', 'ignore'] }).stdout)[
      Symbol.asyncIterator
    ]();
    const { port } = JSON.parse((await lines.next()).value);
    return { ARENA_SMTP: `smtp://127.0.0.1:${port}`, ARENA_MAIL_FROM: 'arena@example.org' };
  });
  const link = async () => {
    const text = JSON.parse((await lines.next()).value).data.replaceAll(/=\r?\n/g, ''); // quoted-printable
    return /\/console\/(?:confirm|reset)#[\w-]+/.exec(text)[0];
  };
  return { url, link };
}

test(
  'an owner confirms an address, and gets a new token by mail',
  { timeout: PATIENCE, skip: !python && !required && 'no aiosmtpd' },
  async (t) => {
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
    await page.locator(`${id('mails')} [name="email"]`).fill('kim@example.com');
    await page.locator('#mail-pauses').uncheck();
    await page.locator('#mail-pauses:enabled').waitFor();
    assert.equal(await page.locator(`${id('mails')} [name="email"]`).inputValue(), 'kim@example.com');
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
  },
);
