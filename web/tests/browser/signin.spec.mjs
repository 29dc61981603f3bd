// Signs people in with a real OpenID Connect provider, at an arena of its own:
//
//   scripts/browser-test.sh signin.spec.mjs
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { serve } from './kit/arena.mjs';
import { fits, grave, id, open, PATIENCE, SCREENS } from './kit/kit.mjs';

const PROVIDER = fileURLToPath(new URL('../oidc/provider.mjs', import.meta.url));
const TOKEN = 'admin-token-of-the-sign-in-tests';

/** An arena and its provider, ended with the test. */
async function stage(t) {
  let issuer;
  const url = await serve(t, async (at, run) => {
    const provider = run(process.execPath, [PROVIDER, JSON.stringify({ redirect_uris: [`${at}/v1/signin/callback`] })], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    const [line] = await once(createInterface(provider.stdout), 'line');
    const real = JSON.parse(line);
    issuer = real.issuer;
    return {
      ARENA_ADMIN_TOKEN: TOKEN,
      ARENA_OIDC_ISSUER: issuer,
      ARENA_OIDC_CLIENT_ID: real.client_id,
      ARENA_OIDC_CLIENT_SECRET: real.client_secret,
      ARENA_OIDC_NAME: 'Acme',
    };
  });
  return { url, issuer };
}

/** Does at the provider what a person does. */
async function consent(page, issuer, login) {
  await page.waitForURL(`${issuer}/**`);
  await page.locator('[name="login"]').fill(login);
  await page.locator('[name="password"]').fill('any');
  await page.locator('button[type="submit"]').click();
  await page.locator('[name="prompt"][value="consent"]').waitFor({ state: 'attached' });
  await page.locator('button[type="submit"]').click();
}

test('people sign in with the provider, are invited, and sign out', { timeout: 2 * PATIENCE }, async (t) => {
  const { url, issuer } = await stage(t);
  const tab = async (path, options = {}) => {
    const opened = await open('', { origin: url, refusals: true, ...options });
    t.after(() => (opened.page.isClosed() ? undefined : opened.close()));
    // The provider's own pages ask for fonts elsewhere.
    await opened.page.context().route(
      (to) => to.hostname !== '127.0.0.1',
      (route) => route.abort(),
    );
    await opened.go(path);
    return opened;
  };
  const expiry = async ({ page }) => (await page.context().cookies(url)).find((c) => c.name === 'arena_session')?.expires;
  const shots = async (name, path, { login } = {}) => {
    for (const width of [1440, 390]) {
      for (const theme of SCREENS ? ['dark', 'light'] : ['dark']) {
        const { page } = await tab(login ? '/console' : path, { width, theme });
        if (login) {
          await page.locator(id('sign-in-with')).click();
          await consent(page, issuer, login);
          await page.locator(id('sign-out')).waitFor();
          await page.goto(url + path);
        }
        await page.locator(login ? id('sign-out') : id('sign-in-with')).waitFor();
        await fits(page, `${name} ${width}`);
        assert.deepEqual(await grave(page), [], `${name} ${width}`);
        if (SCREENS) await page.screenshot({ path: `${SCREENS}/${name}-${width}-${theme}.png`, fullPage: true });
        await page.context().close();
      }
    }
  };

  // An admin by the provider's claim.
  const admin = await tab('/admin');
  assert.equal(await admin.page.locator(id('sign-in-with')).textContent(), 'Sign in with Acme');
  await admin.page.locator('[name="token"]').waitFor(); // the form for tokens stays
  await admin.page.locator('[name="remember"]').check();
  await admin.page.locator(id('sign-in-with')).click();
  await consent(admin.page, issuer, 'admin');
  await admin.page.waitForURL(`${url}/admin`);
  assert.match(await admin.page.locator(id('who')).textContent(), /admin of the tests/);
  await admin.page.reload();
  await admin.page.locator(id('who')).waitFor();
  assert.ok((await expiry(admin)) > Date.now() / 1000, 'it is to be remembered');

  // A link for a moderator.
  await admin.page.locator('a[href="/admin/people"]').click();
  const form = admin.page.locator(id('invite'));
  await form.locator('[name="name"]').fill('Mo');
  await form.locator('[name="role"]').selectOption('moderator');
  await form.locator('button').click();
  const link = await form.locator(id('invite-link')).inputValue();
  assert.ok(link.startsWith(`${url}/invite/`));
  await admin.page.locator(`${id('invitation')}[data-state="open"]`).waitFor();
  if (SCREENS) await admin.page.screenshot({ path: `${SCREENS}/people-made-1440-dark.png`, fullPage: true });
  await shots('invite', new URL(link).pathname);
  await shots('signin-console', '/console');
  await shots('signin-admin', '/admin');

  // Kim takes it up with the provider, and moderates.
  const kim = await tab(new URL(link).pathname);
  await kim.page.locator(`${id('invited-as')}[data-role="moderator"]`).waitFor();
  await kim.page.locator(id('sign-in-with')).click();
  await consent(kim.page, issuer, 'kim');
  await kim.page.waitForURL(`${url}/admin`);
  assert.match(await kim.page.locator(id('who')).textContent(), /kim of the tests/);
  assert.equal(await expiry(kim), -1, 'the browser deletes it when it closes');
  const again = await tab(new URL(link).pathname);
  await again.page.locator(`${id('invitation-over')}[data-code="invitation_used"]`).waitFor();
  await shots('people', '/admin/people', { login: 'admin' });

  // The admin takes the role away: the next thing that Kim does is refused.
  await admin.page.reload();
  const row = admin.page.locator(`${id('person')}[data-role="moderator"]`);
  await row.locator(id('person-remove')).click();
  await row.waitFor({ state: 'detached' });
  await kim.page.goto(`${url}/admin`);
  await kim.page.locator(id('without-role')).waitFor();

  // As an owner Kim stays, until signing out.
  await kim.page.goto(`${url}/console`);
  await kim.page.route('**/v1/me/session', (route) => route.fulfill({ status: 429, json: { code: 'rate_limited' } }), { times: 1 });
  await kim.page.locator(id('sign-out')).click();
  await kim.page.locator(id('still-signed-in')).waitFor();
  assert.equal(await kim.page.locator(id('console')).getAttribute('data-signed-in'), 'true');
  await kim.page.locator(id('sign-out')).click();
  await kim.page.locator(id('sign-in-with')).waitFor();
  await kim.page.reload();
  await kim.page.locator(id('sign-in-with')).waitFor();
  assert.deepEqual(
    (await kim.page.context().cookies(url)).map((c) => c.name).filter((name) => /arena/.test(name)),
    [],
  );

  // Whoever came to register an agent gets there.
  const author = await tab('/console/new');
  await author.page.locator(id('sign-in-with')).click();
  await consent(author.page, issuer, 'ann');
  await author.page.waitForURL(`${url}/console/new`);
  await author.page.locator(id('register')).waitFor();

  // What failed is shown where it began.
  await kim.page.goto(`${url}/v1/signin/callback?state=x&code=y`);
  await kim.page.locator(`${id('sign-in-failed')}[data-code="unauthorized"]`).waitFor();
  for (const { faults } of [admin, kim])
    assert.deepEqual(
      faults.filter(
        (f) =>
          !f.startsWith(`foreign request: ${issuer}/`) && !f.startsWith('foreign request: https://fonts.') && !f.includes('ERR_FAILED'),
      ),
      [],
    );
});
