// The pages of leagues that are played in seasons, and a debate, as a
// spectator meets them:
//
//   scripts/browser-test.sh league.spec.mjs
//
// The arena must have a Swiss league and a debating one that play. With the
// admin's token a season that waits for its hour begins at once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serve } from '../../scripts/fixture-server.mjs';
import { world } from '../../scripts/fixture-world.mjs';
import { ADMIN, api, checkPages, id, mapAll, open, PATIENCE, send, until } from './kit/kit.mjs';

const leagueOf = async (fits) => until('league', async () => (await api('/v1/leagues')).items.find(fits));

/** The newest season of a league with a round of its own. */
const seasonOf = (slug) =>
  until(
    `season of ${slug} with a round`,
    async () => {
      const newest = (await api(`/v1/leagues/${slug}/seasons`)).items[0];
      const season = newest && (await api(`/v1/leagues/${slug}/seasons/${newest.season}`));
      return season?.rounds.length ? season : undefined;
    },
    PATIENCE,
  );

test('a Swiss season shows its rounds and its table', { timeout: 3 * PATIENCE }, async (t) => {
  const league = await leagueOf((l) => l.format === 'swiss');
  if (ADMIN && league.schedule && !(await api(`/v1/leagues/${league.slug}/seasons`)).items.length) {
    t.after(() => send('PATCH', `/v1/leagues/${league.slug}`, { schedule: league.schedule }));
    assert.equal((await send('PATCH', `/v1/leagues/${league.slug}`, { schedule: '' })).ok, true);
  }
  const season = await seasonOf(league.slug);
  const { page, faults, close } = await open(`/l/${league.slug}?season=${season.season}`);
  await page.locator(`${id('season')}[data-season="${season.season}"]`).waitFor();
  await page
    .locator(`${id('season-rounds')} summary`)
    .first()
    .waitFor();
  assert.ok((await page.locator(`${id('season-rounds')} summary`).count()) >= Math.min(season.rounds.length, 6));

  // A round opens and closes by keyboard; each of its boards is there once.
  const first = page.locator(`${id('season-rounds')} details`).last();
  if (season.rounds.length > 1) {
    await first.locator('summary').focus();
    await page.keyboard.press('Enter');
  }
  await first.locator(id('pairing')).first().waitFor();
  assert.equal(await first.locator(id('pairing')).count(), new Set(season.rounds[0].pairings.map((p) => p.slot)).size);

  await until('table', async () => (await page.locator(id('season-row')).count()) > 0);
  await page.locator(id('tab-ratings')).click();
  await page
    .locator(`${id('standings')}, ${id('league')} .quiet`)
    .first()
    .waitFor();
  await page.goBack();
  await page.locator(id('season-rounds')).waitFor();
  assert.deepEqual(faults, []);
  await close();
  await checkPages({ season: [`/l/${league.slug}`, id('season-rounds')] });
});

test('a debate is two columns of speeches, and fits a phone', { timeout: 4 * PATIENCE }, async () => {
  const debates = await leagueOf((l) => l.debate);
  const judged = await until(
    'debate that has been judged',
    async () => {
      const list = (await api(`/v1/matches?league=${debates.slug}&status=running,finished&limit=20`)).items;
      return list.find((m) => m.status === 'finished') ?? list.find((m) => m.round > debates.debate.turns);
    },
    2 * PATIENCE,
  );
  const { page, faults, close } = await open(`/m/${judged.match_id}`);
  await page.locator(`${id('layout-debate')} ${id('motion')}`).waitFor();
  await page
    .locator(id('timeline-round'))
    .nth(debates.debate.turns - 1)
    .click();
  assert.deepEqual(await mapAll(page, id('debate-side'), (s) => s.dataset.side), ['for', 'against']);
  assert.deepEqual(faults, []);
  await close();
  await checkPages({ debate: [`/m/${judged.match_id}`, `${id('layout-debate')} ${id('debate-side')}`] });
});

// What a demo does not come to in time is shown on recorded seasons.
test(
  'a bracket is a tree on a desk and a list on a phone; a crosstable scrolls by itself; a vote is thanked for',
  { timeout: PATIENCE },
  async (t) => {
    const server = await serve();
    t.after(() => server.stop());
    const origin = `http://127.0.0.1:${server.address().port}`;
    const { page, faults, close } = await open('/l/cup', { origin });
    await page
      .locator(`${id('bracket')} ${id('series')}`)
      .first()
      .waitFor();
    const sizes = await mapAll(page, `${id('bracket')} ol.series`, (l) => l.children.length);
    assert.deepEqual(sizes, [8, 4, 2, 1]);
    await page.locator(id('season-choose')).selectOption('1');
    await page.locator(id('podium')).waitFor();
    await page.goto(`${origin}/m/m_vote`);
    await page.locator(id('vote-A')).click();
    await page.locator(`${id('vote-A')}[aria-pressed="true"]`).waitFor();
    assert.notEqual((await page.locator(id('vote-said')).textContent())?.trim(), '');
    assert.deepEqual(faults, []);
    await close();
    await checkPages(
      { bracket: ['/l/cup', `${id('bracket')} ${id('series')}`], crosstable: ['/l/robin', id('crosstable'), id('crosstable')] },
      { origin },
    );
  },
);

test('older seasons come when they are asked for, and one by its address without them', async (t) => {
  const server = await serve(0, { ...world(), part: 1 });
  t.after(() => server.stop());
  const { page, faults, close } = await open('/l/cup', { origin: `http://127.0.0.1:${server.address().port}` });
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
  await page.reload(); // its address alone: the list has not come to it
  await page.locator(`${id('season')}[data-season="1"] ${id('podium')}`).waitFor();
  assert.equal(await page.locator(id('season-choose')).inputValue(), '1');
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

test('a season that cannot be read says so in place of the one before, and comes with another try', async (t) => {
  const server = await serve(0, world());
  t.after(() => server.stop());
  const { page, faults, close } = await open('/l/cup', { origin: `http://127.0.0.1:${server.address().port}`, refusals: true });
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
  assert.equal(await page.locator(id('series')).count(), 0);
  await page.unroute('**/v1/leagues/cup/seasons/1');
  await page.locator(`${id('read-error')} button`).click();
  await page.locator(`${id('season')}[data-season="1"] ${id('podium')}`).waitFor();
  // Nothing else of the league was read anew for it, and it was not asked for before its time.
  const reads = (end) => asked.filter((path) => path === `/v1/leagues/cup/${end}`).length;
  assert.deepEqual([reads('seasons/1'), reads('seasons'), reads('standings')], [2, 0, 0]);
  assert.deepEqual(faults, []);
  await close();
});

test('a frozen board is hidden while the reader looks on, and comes back from the last place up', { timeout: PATIENCE }, async (t) => {
  const league = await leagueOf((l) => l.format === 'ladder' && l.status === 'running' && l.rated && !l.debate && !l.game);
  t.after(() => send('POST', `/v1/leagues/${league.slug}/resume`));
  const { page, faults, close } = await open(`/l/${league.slug}?view=ratings`);
  await page.locator(`${id('standings')}:not(.reveal)`).waitFor();
  assert.equal((await send('POST', `/v1/leagues/${league.slug}/freeze`)).status, 200);
  await page.locator(id('table-frozen')).waitFor({ timeout: PATIENCE });
  assert.equal(await page.locator(id('standing')).count(), 0);
  assert.equal((await send('POST', `/v1/leagues/${league.slug}/resume`)).status, 200);
  await page.locator(`${id('standings')}.reveal`).waitFor({ timeout: PATIENCE });
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
