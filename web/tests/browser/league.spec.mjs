// The pages of leagues that are played in seasons, and a debate, as recorded:
//
//   scripts/browser-test.sh league.spec.mjs
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkPages, counted, id, mapAll, open } from './kit/kit.mjs';
import { recording, shared } from './kit/recording.mjs';
import { audit, summary } from '../../scripts/fixture-audit.mjs';

test('a Swiss season shows its rounds and its table', async () => {
  const [season] = shared.world.seasons.swiss;
  const { page, faults, close } = await open(`/l/swiss?season=${season.season}`);
  await page.locator(`${id('season')}[data-season="${season.season}"]`).waitFor();
  await page
    .locator(`${id('season-rounds')} summary`)
    .first()
    .waitFor();
  await counted(page.locator(`${id('season-rounds')} summary`), Math.min(season.rounds.length, 6));

  // A round opens and closes by keyboard; each of its boards is there once.
  const first = page.locator(`${id('season-rounds')} details`).last();
  await first.locator('summary').focus();
  await page.keyboard.press('Enter');
  await first.locator(id('pairing')).first().waitFor();
  await counted(first.locator(id('pairing')), new Set(season.rounds[0].pairings.map((p) => p.slot)).size);

  await page.locator(id('season-row')).first().waitFor();
  await page.locator(id('tab-ratings')).click();
  await page
    .locator(`${id('standings')}, ${id('league')} .quiet`)
    .first()
    .waitFor();
  await page.goBack();
  await page.locator(id('season-rounds')).waitFor();
  assert.deepEqual(faults, []);
  await close();
  await checkPages({ season: ['/l/swiss', id('season-rounds')] });
});

test('a debate is two columns of speeches, and fits a phone', async () => {
  const { page, faults, close } = await open('/m/m_done_debate');
  await page.locator(`${id('layout-debate')} ${id('motion')}`).waitFor();
  await page.locator(id('timeline-round')).nth(1).click();
  assert.deepEqual(await mapAll(page, id('debate-side'), (s) => s.dataset.side), ['for', 'against']);
  assert.deepEqual(faults, []);
  await close();
  await checkPages({ debate: ['/m/m_done_debate', `${id('layout-debate')} ${id('debate-side')}`] });
});

test('while a debate runs, both sides are in the window, with the verdict and, on a desk, the controls', async (t) => {
  const own = await recording(t);
  own.to('m_live_debate', (e) => e.type === 'round_closed' && e.ballots?.length);
  for (const viewport of [
    { width: 1440, height: 900 },
    { width: 390, height: 844 },
  ]) {
    const { page, faults, close } = await open('/m/m_live_debate', { origin: own.origin, ...viewport });
    const foot = async (name, n = 0) => {
      const box = await page.locator(id(name)).nth(n).boundingBox();
      return box.y + box.height;
    };
    await page.locator(id('first-reason')).waitFor();
    await page.locator(id('replay')).waitFor();
    assert.ok((await foot('first-reason')) < (await page.locator(id('debate-side')).first().boundingBox()).y, 'the verdict covers a side');
    assert.ok((await foot('debate-side', 1)) <= viewport.height, `the second side ends at ${await foot('debate-side', 1)}`);
    const bar = await page.locator(id('replay')).boundingBox();
    assert.ok(bar.y >= (await foot('debate-side', 1)), 'the controls cover a side');
    if (viewport.width > 1000) assert.ok(bar.y + bar.height <= viewport.height, `the controls end at ${bar.y + bar.height}`);
    assert.deepEqual(faults, []);
    await close();
  }
});

test('a bracket is a tree on a desk and a list on a phone; a crosstable scrolls by itself; a vote is thanked for', async () => {
  const { page, faults, close, go } = await open('/l/cup');
  await page
    .locator(`${id('bracket')} ${id('series')}`)
    .first()
    .waitFor();
  const sizes = await mapAll(page, `${id('bracket')} ol.series`, (l) => l.children.length);
  assert.deepEqual(sizes, [8, 4, 2, 1]);
  await page.locator(id('season-choose')).selectOption('1');
  await page.locator(id('podium')).waitFor();
  await go('/m/m_vote');
  await page.locator(id('vote-A')).click();
  await page.locator(`${id('vote-A')}[aria-pressed="true"]`).waitFor();
  assert.notEqual((await page.locator(id('vote-said')).textContent())?.trim(), '');
  assert.deepEqual(faults, []);
  await close();
  await checkPages({
    bracket: ['/l/cup', `${id('bracket')} ${id('series')}`],
    crosstable: ['/l/robin', id('crosstable'), id('crosstable')],
  });
});

test('older seasons come when they are asked for, and one by its address without them', async (t) => {
  const { origin } = await recording(t, { part: 1 });
  const { page, faults, close } = await open('/l/cup', { origin });
  const seasons = () => mapAll(page, `${id('season-choose')} option`, (o) => o.value);
  await page.locator(`${id('season')}[data-season="2"]`).waitFor();
  assert.deepEqual(await seasons(), ['2']);
  await page.locator(id('season-older')).click();
  await page.locator(id('season-older')).waitFor({ state: 'detached' });
  assert.deepEqual(await seasons(), ['2', '1']);
  await page.locator(id('season-choose')).focus();
  await page.locator(id('season-choose')).selectOption('1');
  await page.locator(`${id('season')}[data-season="1"]`).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.dataset.testid), 'season-choose'); // the next key chooses on
  await counted(page.locator(id('season-corrected')), 0);
  await page.route('**/v1/leagues/cup/seasons/1', async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, json: { ...(await answer.json()), corrected_at: '2026-03-05T12:00:00Z' } });
  });
  await page.reload(); // its address alone: the list has not come to it
  await page.locator(`${id('season')}[data-season="1"] ${id('podium')}`).waitFor();
  assert.equal(await page.locator(id('season-choose')).inputValue(), '1');
  assert.match(await page.locator(id('season-corrected')).innerText(), /corrected on Mar 5, 2026/);
  // How it was won, with a link to the match that decided it, and what to share.
  const final = page.locator(`${id('moment')}[data-kind="final"]`);
  assert.match(await final.innerText(), /beat/);
  assert.match(await final.getByRole('link').getAttribute('href'), /^\/m\/m_/);
  assert.equal(await page.locator(id('story-picture')).getAttribute('href'), '/v1/leagues/cup/seasons/1/card.png');
  await page.locator(id('story-link')).click();
  assert.match(await page.locator(id('copy-text')).inputValue(), /\/l\/cup\/seasons\/1$/);
  assert.deepEqual(faults, []);
  await close();
});

test('a season that cannot be read says so in place of the one before, and comes with another try', async () => {
  const { page, faults, close } = await open('/l/cup', { refusals: true });
  await page
    .locator(`${id('season')}[data-season="2"] ${id('series')}`)
    .first()
    .waitFor();
  const asked = [];
  page.on('request', (r) => asked.push(new URL(r.url()).pathname));
  await page.route('**/v1/leagues/cup/seasons/1', (route) =>
    route.fulfill({ status: 429, headers: { 'retry-after': '600' }, json: { code: 'rate_limited' } }),
  );
  await page.locator(id('season-choose')).selectOption('1');
  await page.locator(`${id('season')} ${id('read-error')}`).waitFor();
  assert.match(await page.locator(`${id('season')} h2`).textContent(), /1/);
  await counted(page.locator(id('series')), 0);
  await page.unroute('**/v1/leagues/cup/seasons/1');
  await page.locator(`${id('read-error')} button`).click();
  await page.locator(`${id('season')}[data-season="1"] ${id('podium')}`).waitFor();
  // Nothing else of the league was read anew for it, and it was not asked for before its time.
  const reads = (end) => asked.filter((path) => path === `/v1/leagues/cup/${end}`).length;
  assert.deepEqual([reads('seasons/1'), reads('seasons'), reads('standings')], [2, 0, 0]);
  assert.deepEqual(faults, []);
  await close();
});

test('a frozen board is hidden while the reader looks on, and comes back from the last place up', async (t) => {
  const own = await recording(t);
  const { page, faults, go, close } = await open('', { origin: own.origin });
  await page.clock.install({ time: own.now() });
  await go('/l/trivia?view=ratings');
  await page.locator(`${id('standings')}:not(.reveal)`).waitFor();
  own.world.hidden = new Set(['trivia']);
  await page.clock.fastForward(60_000); // the table is read again
  await page.locator(id('table-frozen')).waitFor();
  await counted(page.locator(id('standing')), 0);
  own.world.hidden.clear();
  await page.clock.fastForward(60_000);
  await page.locator(`${id('standings')}.reveal`).waitFor();
  const delays = await mapAll(page, id('standing'), (r) => parseFloat(getComputedStyle(r).animationDelay));
  assert.deepEqual(
    delays,
    [...delays].sort((a, b) => b - a),
    'the first place comes before the last',
  );
  assert.ok(delays.length > 1 && delays[0] > 0);
  assert.deepEqual(faults, []);
  await close();
});

test('the page of a league shows its audit: at chance, with findings, of earlier settings, under way', async (t) => {
  const own = await recording(t);
  const league = own.world.leagues.find((l) => l.slug === 'trivia');
  const shows = (report) => {
    own.world.audits = { trivia: report };
    league.audit = report.cheats ? summary(report) : report;
  };
  const look = async (report, check) => {
    shows(report);
    const { page, faults, close } = await open('/l/trivia', { origin: own.origin });
    await page.locator(id('league-audit')).waitFor();
    await check(page, await page.locator(id('league-audit')).innerText());
    assert.deepEqual(faults, []);
    await close();
  };
  const unfold = (page) => page.locator(`${id('league-audit')} summary`).click();

  await look(audit(), async (page, text) => {
    assert.match(text, /8 of 8 cheats stayed at chance\./);
    assert.doesNotMatch(text, /finding|changed/);
    await unfold(page);
    await page.locator(id('audit-p95')).waitFor();
    assert.match(await page.locator(id('audit-p25')).innerText(), /Knows 25%\s+28% 19%–41%/);
    assert.match(await page.locator(id('audit-echo')).innerText(), /At chance/);
    await counted(page.locator(`${id('league-audit')} .bad`), 0);
  });

  const worse = audit({
    succeed: ['first_option'],
    untried: ['injection'],
    found: [
      { kind: 'first_option', tasks: 71, of: 200, chance: 0.25 },
      { kind: 'duplicates', tasks: 2, of: 200, chance: 0, numbers: [7, 19] },
      { kind: 'short_delay', tasks: 0, of: 0, chance: 0 },
    ],
    stale: true,
  });
  await look(worse, async (page, text) => {
    assert.match(text, /6 of 7 cheats stayed at chance\. 3 findings .* The settings have changed since\./);
    await unfold(page);
    await counted(page.locator(id('audit-found')), 3);
    assert.match(await page.locator(id('audit-first_option')).innerText(), /Succeeded/);
    assert.match(await page.locator(id('audit-injection')).innerText(), /Not tried/);
    assert.deepEqual(await mapAll(page, id('audit-found'), (l) => l.innerText), [
      'The first option is right too often 71 of 200 questions, 25% by chance',
      'Questions are there twice 2 of 200 questions',
      'The delay is shorter than the time limit',
    ]);
  });

  const first = { status: 'pending', passed: 0, tried: 0, findings: 0 };
  await look(first, async (page, text) => {
    assert.equal(text, 'Its audit is under way. This takes less than a minute.');
    await counted(page.locator(`${id('league-audit')} details`), 0);
  });
  await look({ ...first, status: 'none', reason: 'the server could not complete it' }, (_, text) =>
    assert.equal(text, 'The last audit came to nothing: the server could not complete it.'),
  );

  Object.assign(league, { status: 'draft', note: 'the audit …', note_code: 'audit', note_params: { cheats: 'first_option' } });
  await look(worse, async (page) => {
    assert.equal(
      await page.locator(id('next-run')).first().innerText(),
      'Not open: its audit found that agents can cheat: The first option',
    );
  });
  await checkPages({ audit: ['/l/trivia', id('league-audit')] }, { origin: own.origin });
});
