// Watches recorded matches as a spectator does, in headless Chromium:
//
//   scripts/browser-test.sh match.spec.mjs
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkPages, counted, id, open } from './kit/kit.mjs';
import { recording, shared } from './kit/recording.mjs';

const ready = `${id('match')}[data-ready="true"]`;

test('a spectator follows a match from the lobby to its result', async (t) => {
  const own = await recording(t);
  own.keep('m_live_duel', 'm_done_duel');
  const { page, faults, close } = await open('/', { origin: own.origin });
  await page.locator(`${id('lobby')}[data-ready="true"]`).waitFor();
  await page.locator(id('stage')).locator(id('watch')).click();

  const match = page.locator(ready);
  await match.waitFor();
  await page.locator(id('layout-duel')).waitFor();
  await counted(page.locator(id('lane')), 2);
  await page.locator(id('task')).first().waitFor();

  own.to('m_live_duel');
  await page.locator(`${id('match-status')}[data-status="finished"]`).waitFor();
  await page.locator(id('result')).waitFor();
  const snapshot = own.match('m_live_duel');
  await counted(page.locator(id('result-seat')), 2);
  await counted(page.locator(id('timeline-round')), snapshot.round);
  const score = await Promise.all(['score-a', 'score-b'].map((s) => page.locator(`${id(s)} .unseen`).textContent()));
  assert.deepEqual(
    score.map(Number),
    snapshot.seats.map((s) => s.points),
  );
  assert.notEqual((await page.locator(id('announce')).textContent())?.trim(), '');

  // Back in time, and forward again.
  await page.locator(id('timeline-round')).first().click();
  await page.locator(id('back-to-live')).waitFor();
  await counted(page.locator(id('result')), 0);
  await page.locator(id('back-to-live')).click();
  await page.locator(id('result')).waitFor();
  assert.equal(Number(await match.getAttribute('data-seq')), snapshot.seq);
  assert.deepEqual(faults, []);
  await close();
});

test('a finished match shows its end and its whole log to one who comes late', async () => {
  const late = shared.match('m_done_duel');
  const { page, faults, close } = await open('/m/m_done_duel');
  await page.locator(`${ready}[data-seq="${late.seq}"]`).waitFor();
  await page.locator(id('result')).waitFor();
  await counted(page.locator(id('timeline-round')), late.round);
  assert.deepEqual(faults, []);
  await close();
});

test('a delayed match says so', async (t) => {
  const own = await recording(t);
  own.change('m_live_duel', (e) => (e.type === 'match_started' ? { ...e, visibility: 'delayed:3' } : e));
  const { page, faults, close } = await open('/m/m_live_duel', { origin: own.origin });
  await page.locator(id('delayed'), { hasText: '3 s' }).waitFor();
  assert.deepEqual(faults, []);
  await close();
});

test('a spectator taps an answer to a sealed question, and the reveal says whether it was right', async (t) => {
  const own = await recording(t);
  const match = 'm_live_arena';
  const { page, faults, close } = await open(`/m/${match}`, { origin: own.origin });
  const options = page.locator(`${id('task')} ol`);
  const tapped = page.waitForRequest((r) => r.method() === 'POST');
  await options.locator('button').nth(1).click();
  const request = await tapped;
  assert.equal(new URL(request.url()).pathname, `/v1/matches/${match}/rounds/2/guess`);
  assert.deepEqual(request.postDataJSON(), { answer: 'B' });
  await options.locator('button[aria-pressed="true"]', { hasText: 'B' }).waitFor();
  await counted(options.locator('button:not([aria-disabled="true"])'), 0);

  await page.reload();
  await options.locator('button[aria-pressed="true"]', { hasText: 'B' }).waitFor();
  await page.locator(`${id('guess')}[data-round="2"]`, { hasText: 'Your answer: B' }).waitFor();
  own.to(match, (e) => e.type === 'round_closed' && e.round === 2);
  await page
    .locator(`${id('guess')}[data-closed="true"]`, { hasText: 'You were right. 12 spectators answered You 1 of 1 · agents 9 of 14' })
    .waitFor();
  await counted(options.locator('button'), 0);
  await options.locator('li', { hasText: '67%' }).waitFor();

  // Who comes later, or looks back, is not asked.
  await page.goto(`${own.origin}/m/m_done_arena`);
  await page.locator(`${id('match')}[data-ready="true"]`).waitFor();
  await counted(page.locator(id('guess')), 0);
  assert.deepEqual(faults, []);
  await close();
});

test('the commentary states a closed round, and the browser keeps the choice to hide it', async (t) => {
  const own = await recording(t);
  const nothing = (seats) => seats.map((s) => ({ ...s, points: 0, ...('place' in s && { place: 1 }) }));
  own.change('m_live_duel', (e) =>
    e.seats && e.type !== 'match_scheduled' && e.type !== 'match_started'
      ? { ...e, seats: nothing(e.seats), ...(e.standings && { standings: nothing(e.standings) }) }
      : e,
  );
  own.to('m_live_duel', (e) => e.type === 'round_started' && e.round === 2);
  const { page, faults, close } = await open('/m/m_live_duel', { origin: own.origin });
  const caption = page.locator(id('caption'));
  await page.locator(`${id('caption')}[data-rule="nobody"]`).waitFor();
  await caption.filter({ hasText: 'No points for anyone.' }).waitFor();
  assert.equal(await caption.getAttribute('aria-live'), 'off'); // the page itself says that the round is over
  const { height } = await caption.locator('..').boundingBox();

  await page.locator(id('captions')).click();
  assert.equal((await caption.textContent())?.trim(), '');
  assert.equal(await page.locator(id('captions')).getAttribute('aria-pressed'), 'false');
  // Sound is off until somebody wants it.
  const sound = (pressed) => page.locator(`${id('sound')}[aria-pressed="${pressed}"]`);
  await sound('false').click();
  await sound('true').waitFor();
  await page.keyboard.press('s');
  await sound('false').waitFor();
  assert.equal((await caption.locator('..').boundingBox()).height, height, 'hiding it moves the page');
  await page.reload();
  await page.locator(`${id('caption')}[data-rule="nobody"]`).waitFor({ state: 'attached' });
  assert.equal((await caption.textContent())?.trim(), '');

  await page.locator(id('captions')).click();
  own.to('m_live_duel');
  await page
    .locator(`${id('caption')}[data-rule="draw"]`)
    .filter({ hasText: 'A draw at 0–0.' })
    .waitFor();
  assert.deepEqual(faults, []);
  await close();
});

test('a sealed round shows what agents do, who has locked in, and no code', async (t) => {
  const own = await recording(t);
  // One has locked in, the other one waits for a tool.
  const outcome = own.to('m_live_duel', (e) => e.type === 'seat_outcome');
  const { page, faults, go, settled, close } = await open('/m/m_live_duel', { origin: own.origin });
  await page.locator(`${id('lock-ins')}[data-locked="1"][data-waiting="1"]`).waitFor();
  const [locked, waiting] = ['[data-view-state="sealed"]', '[data-view-state="tool"]'].map((state) =>
    page.locator(`${id('lane')}${state}`),
  );
  await locked.waitFor();
  await waiting.waitFor();
  assert.match(await locked.innerText(), /Locked in after \d/i);
  assert.match(await waiting.locator(id('activity')).innerText(), /knowledge_search.*1 thought/);
  await counted(page.locator(id('lane-clock')), 1);
  await page.locator(`${id('odds')}[data-kind="chance"]`).waitFor();
  const text = await page.locator('main').innerText();
  assert.doesNotMatch(text, /Reading the question|[0-9a-f]{16}|[0-9a-f]{6}…/);

  // The commitment is a tooltip, and in the details.
  await locked.locator(`${id('proof')} summary`).click();
  const hash = await locked.locator(`${id('proof')} ${id('commitment')}`).innerText();
  assert.match(hash, /^[0-9a-f]{64}$/);
  assert.match((await locked.locator(`[title*="${hash}"]`).first().getAttribute('title')) ?? '', /Sealed as/);

  own.to('m_live_duel');
  await page.locator(id('result')).waitFor();
  await page.locator(`${id('odds')}[data-kind="result"]`).waitFor();
  assert.match(await page.locator(id('lane')).first().innerText(), /Reading the question/);
  for (const move of await page.locator(`${id('result')} ${id('rating-move')}`).allInnerTexts())
    assert.match(move.replaceAll(/\s+/g, ' '), /^\d+ → \d+.* [+−]\d+$/);

  // Back at the first round nothing of the second one is known.
  await go(`/m/m_live_duel?seq=${outcome.seq}`);
  await settled(`${id('lock-ins')}[data-locked="1"][data-waiting="1"]`);
  await page.locator(`${id('odds')}[data-kind="chance"]`).waitFor();
  await counted(page.locator(id('result')), 0);
  assert.doesNotMatch(await page.locator('main').innerText(), /Reading the question/);
  assert.equal(await page.locator(id('timeline-round')).nth(1).getAttribute('aria-label'), 'Round 2: not shown yet');
  assert.deepEqual(faults, []);
  await close();
});

test('a round that everybody has answered holds its result back for a beat', async (t) => {
  const own = await recording(t);
  own.to('m_live_duel', (e) => e.type === 'seat_outcome');
  const { page, faults, go, settled, close } = await open('', { origin: own.origin });
  // The clock of the page stands until the test moves it.
  await page.addInitScript(() => (performance.now = () => window.passed ?? 0));
  await go('/m/m_live_duel');
  await settled(`${id('lock-ins')}[data-locked="1"][data-waiting="1"]`);
  const score = page.locator(`${id('score-a')} .unseen`);
  own.to('m_live_duel', (e) => e.type === 'round_closed');
  await page.locator(`${id('lock-ins')}[data-locked="2"]`, { hasText: 'All answers are in' }).waitFor();
  assert.equal(await score.textContent(), '0');
  await counted(page.locator(`${id('lane')}[data-view-state="right"]`), 0);
  await page.evaluate(() => (window.passed = 900));
  await page.locator(`${id('score-a')} .unseen`, { hasText: '1' }).waitFor();
  await counted(page.locator(`${id('lane')}[data-view-state="right"]`), 2);
  assert.deepEqual(faults, []);
  await close();
});

test('what agents call themselves is text', async (t) => {
  const own = await recording(t);
  const [agent] = own.world.agents;
  agent.name = '<script>alert(1)</script>';
  const { page, faults, close } = await open(`/a/${agent.agent_id}`, { origin: own.origin });
  const title = page.locator(`${id('agent')} h1`, { hasText: '<script' });
  await title.waitFor();
  assert.equal((await title.textContent())?.trim(), agent.name);
  await counted(page.locator('main script'), 0);
  assert.deepEqual(faults, []);
  await close();
});

test('the keyboard reaches everything, and choices are kept', async () => {
  const { page, faults, close } = await open('/');
  await page.locator(`${id('lobby')}[data-ready="true"]`).waitFor();
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('href')), '#main');
  await page.locator(id('theme')).focus();
  await page.keyboard.press('Enter');
  await page.locator(id('language')).focus();
  await page.keyboard.press('Enter');
  await page.locator('html[lang="es"]').waitFor();
  await page.reload();
  await page.locator('html[lang="es"][data-theme="light"]').waitFor();
  await page.locator('header nav a[href="/leagues"]').focus();
  await page.keyboard.press('Enter');
  await page.locator(`${id('page')}[data-page="leagues"]:focus`).waitFor();
  assert.deepEqual(faults, []);
  await close();
});

test('every page fits a phone and a desk, in the dark and in the light', async () => {
  await checkPages({
    lobby: ['/', `${id('lobby')}[data-ready="true"]`],
    duel: ['/m/m_live_duel', ready],
    table: ['/m/m_live_table', ready],
    arena: ['/m/m_live_arena', `${ready} ${id('layout-arena')}`],
    league: ['/l/trivia', id('standings')],
    leaderboard: ['/leaderboard', id('leaderboard')],
    agent: [`/a/${shared.world.agents[0].agent_id}`, `${id('agent')}[aria-busy="false"]`],
  });
});
