// Challenges from the owner's console, in headless Chromium:
//
//   scripts/browser-test.sh challenge.spec.mjs
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { api, id, once, open, pair, PATIENCE, send } from './kit/kit.mjs';

test('an owner challenges an agent of its league to an unrated match and watches it', { timeout: PATIENCE }, async (t) => {
  const slug = `spar-${once()}`;
  assert.equal(
    (
      await send('POST', '/v1/leagues', {
        slug,
        title: 'Sparring ring',
        generator: { name: 'arithmetic' },
        judge: 'number',
        rounds: 1,
        time_limit_seconds: 60,
        rated: true,
      })
    ).status,
    201,
  );
  const [mine, theirs] = await pair(t, slug);
  const { page, faults, close } = await open(`/console/agents/${mine.id}`, { kept: { 'arena.owner': mine.token }, refusals: true });
  const form = page.locator(id('challenge'));
  await form.locator(`option[value="${theirs.id}"]`).waitFor({ state: 'attached' });
  assert.equal(await form.locator(`option[value="${mine.id}"]`).count(), 0, 'an agent may challenge itself');
  await form.locator('[name="opponent_id"]').selectOption(theirs.id);

  // Whoever is paused meanwhile is not challenged: the form says so at its field.
  assert.equal((await send('POST', `/v1/agents/${theirs.id}/pause`, undefined, theirs.token)).status, 200);
  await form.locator('button').click();
  await page.locator(`${id('field-error')}[data-field="opponent_id"]`, { hasText: 'paused' }).waitFor();
  assert.equal((await send('POST', `/v1/agents/${theirs.id}/resume`, undefined, theirs.token)).status, 200);
  await form.locator('button').click();
  await page.locator(id('challenge-made')).click();
  await page.locator(`${id('match')}[data-ready="true"]`).waitFor();
  const match = await api(`/v1/matches/${await page.locator(id('match')).getAttribute('data-match')}`);
  assert.equal(match.rated, false);
  assert.deepEqual(
    match.seats.map((s) => s.agent_id),
    [mine.id, theirs.id],
  );
  assert.equal((await send('POST', `/v1/matches/${match.match_id}/void`, {})).status, 200);
  assert.deepEqual(faults, []);
  await close();
});
