// Finding things: the list of matches with its filters, the schedule, two to
// four agents side by side, tables that sort, addresses that do not exist.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkPages, counted, id, open, ORIGIN, restage, rewrite, until } from './kit/kit.mjs';
import { recording, shared } from './kit/recording.mjs';

const duel = shared.match('m_done_duel');
const lines = (page) => page.locator(id('match-line'));
/** An answer that a page does not ask again for by itself before a test clicks. */
const refuse = (route) => route.fulfill({ status: 429, headers: { 'retry-after': '600' }, json: { code: 'rate_limited' } });
const path = (page) => page.evaluate(() => location.pathname + location.search);

test('matches are found by filters that stand in the address', async () => {
  const [a, b] = duel.seats;
  const { page, faults, close } = await open('/matches');
  await lines(page).first().waitFor();

  await page.locator(id('filter-status')).selectOption('finished');
  await page.locator(`${id('matches')}[data-address="/matches?status=finished"]`).waitFor();
  await counted(page.locator(`${id('match-line')}:not([data-status="finished"])`), 0);
  await page.locator(id('filter-league')).selectOption(duel.league);
  await page.locator(`${id('matches')}[data-address="/matches?league=${duel.league}&status=finished"]`).waitFor();

  await page.locator(id('filter-q')).fill(a.name);
  await until('address with the name', async () => (await path(page)).includes('q='));
  await page.locator(`${id('match-line')}[data-match="${duel.match_id}"]`).waitFor();

  // A day without matches is empty and says so.
  await page.locator(id('filter-to')).fill('2001-01-01');
  await page.locator(id('matches-empty')).waitFor();
  await page.locator(id('clear')).click();
  await page.locator(`${id('matches')}[data-address="/matches"]`).waitFor();
  assert.equal(await page.locator(id('filter-q')).inputValue(), '');

  // Counts lead to their matches, and the address alone draws the list.
  await page.goto(`${ORIGIN}/a/${a.agent_id}`);
  await page.locator(id('agent-matches')).click();
  await page.locator(id('chip-agent')).waitFor();
  assert.match(await path(page), new RegExp(`^/matches\\?league=.+&agent=${a.agent_id}$`));
  await page.goto(`${ORIGIN}/matches?agent=${a.agent_id}&opponent=${b.agent_id}`);
  await page.locator(`${id('match-line')}[data-match="${duel.match_id}"]`).waitFor();
  await page.locator(id('chip-opponent')).click();
  await page.locator(`${id('matches')}[data-address="/matches?agent=${a.agent_id}"]`).waitFor();
  assert.deepEqual(faults, []);
  await close();
});

test('a filter whose matches cannot be read says so until they can', async () => {
  const { page, faults, close } = await open('/matches', { refusals: true });
  await lines(page).first().waitFor();
  await page.route(/\/v1\/matches\?.*status=finished/, refuse);
  await page.locator(id('filter-status')).selectOption('finished');
  await page.locator(`${id('read-error')} button`).waitFor();
  await page.unroute(/\/v1\/matches\?.*status=finished/);
  await page.locator(`${id('matches')}[data-address="/matches?status=finished"]`).waitFor();
  await counted(page.locator(id('read-error')), 0);
  assert.deepEqual(faults, []);
  await close();
});

test('a long list goes on', async (t) => {
  const own = await recording(t);
  const log = own.world.logs.get('m_done_duel');
  for (let n = 0; n < 30; n++)
    own.world.logs.set(
      `m_more_${n}`,
      log.map((e) => ({ ...e, match_id: `m_more_${n}` })),
    );
  const { page, faults, close } = await open('/matches', { origin: own.origin });
  await page.locator(id('more')).click();
  await lines(page)
    .nth(own.world.logs.size - 1)
    .waitFor();
  const shown = await lines(page).evaluateAll((all) => all.map((e) => e.dataset.match));
  assert.equal(new Set(shown).size, shown.length);
  assert.deepEqual(faults, []);
  await close();
});

test('the schedule is in the zone of the reader', async () => {
  const { page, faults, settled, close } = await open('/schedule', { timezoneId: 'Asia/Kolkata' });
  await settled(`${id('schedule')}[aria-busy="false"]`);
  assert.match(await page.locator(id('zone')).innerText(), /Asia\/(Kolkata|Calcutta)/);
  await page.locator(`${id('schedule-league')}[data-league="survival"]`).waitFor();
  assert.ok(!(await page.locator(id('schedule')).innerText()).includes('* *'));
  assert.deepEqual(faults, []);
  await close();
});

test('the best moments of a day lead to their places, and days to their neighbors', async () => {
  const { page, faults, close } = await open('/');
  await page.locator(id('recap-link')).click();
  await page
    .locator(`${id('recap')}[data-day="2026-11-21"] ${id('moment')}`)
    .first()
    .waitFor();
  await counted(page.locator(id('moment')), 5);
  await page.locator(id('earlier')).click();
  await page.locator(id('recap-empty')).waitFor();
  assert.equal(await path(page), '/recap/2026-11-20');
  await page.locator(id('later')).click();
  await page.locator(`${id('moment')}[data-kind="comeback"] a`).click();
  await page.locator(`${id('match')}[data-match]`).waitFor();
  assert.match(await path(page), /^\/m\/m_.+\?seq=\d+$/);
  assert.deepEqual(faults, []);
  await close();
});

test('a start to come has a reminder, as a calendar file', async () => {
  const { page, faults, go, close } = await open('');
  const at = new Date(shared.now() + 3_600_000).toISOString();
  const later = (list, time) => ({ ...list, items: list.items.map((x) => (x[time] ? { ...x, [time]: at, note: undefined } : x)) });
  await rewrite(page, '**/v1/matches?*', (list) => later(list, 'starts_at'));
  await rewrite(page, '**/v1/leagues', (list) => later(list, 'next_run_at'));
  await restage(page, (lobby) => ({ ...lobby, next: later({ items: lobby.next }, 'starts_at').items }));
  const remind = page.locator(id('remind'));
  await go('/schedule');
  await page.locator(`${id('remind')}[download][href^="/leagues/trivia/calendar.ics?event=m_"]`).waitFor();
  await page.locator(`${id('remind')}[href="/leagues/survival/calendar.ics?event=survival-${Date.parse(at) / 1000}"]`).waitFor();
  await go('/');
  await page.locator(id('next')).locator(remind).first().waitFor();
  assert.deepEqual(faults, []);
  await close();
});

test('what is late on the schedule says what it waits for', async () => {
  const { page, faults, close, go } = await open('');
  const past = new Date(Date.now() - 600_000).toISOString();
  await rewrite(page, '**/v1/matches?*', (list) => ({
    ...list,
    items: list.items.slice(0, 1).map((m) => ({ ...m, status: 'ready', starts_at: past })),
    next_cursor: '',
  }));
  await rewrite(page, '**/v1/leagues', (list) => ({
    ...list,
    items: list.items.map((l) => (l.schedule ? { ...l, next_run_at: past, note: 'needs 2 idle agents, has 0' } : l)),
  }));
  await go('/schedule');
  await page.locator(id('late'), { hasText: 'when its agents have finished' }).waitFor();
  await page.locator(id('schedule-league'), { hasText: 'Waiting: needs 2 idle agents, has 0' }).first().waitFor();
  assert.ok(!/ago/.test(await page.locator(id('schedule')).innerText()));
  assert.deepEqual(faults, []);
  await close();
});

test('two agents face each other, four stand side by side', async () => {
  const [a, b] = duel.seats;
  const others = shared.world.agents.slice(2, 4);
  const { page, faults, close } = await open(`/compare?agents=${a.agent_id},${b.agent_id}`);
  await page.locator(id('head-to-head')).waitFor();
  await lines(page).first().waitFor();
  assert.ok((await page.title()).includes(a.name));
  const trivia = page.locator(`${id('beats')}[data-league="trivia"]`);
  await trivia.and(page.locator(':not([data-verdict="too_few"])[data-verdict]')).waitFor();
  assert.match(await trivia.innerText(), /beats .+ in Open Trivia: ahead in 61% of the 121 decided rounds\./);
  await trivia.locator('summary').click();
  assert.match(await trivia.innerText(), /geography[\s\S]+is better[\s\S]+history of science[\s\S]+too few/);
  await page
    .locator(`${id('beats')}[data-verdict="too_few"]`, { hasText: '40 more would tell a difference of 50 Elo' })
    .first()
    .waitFor();

  for (const other of others) {
    await page.locator(id('compare-add')).fill(other.name);
    await page.locator(id('compare-found'), { hasText: other.name }).first().click();
  }
  await page.locator(id('compare-results')).waitFor();
  await counted(page.locator(id('compared')), 4);
  assert.equal((await path(page)).split(',').length, 4);
  await counted(page.locator(id('compare-add')), 0);
  await page
    .locator(`${id('compared')} button`)
    .last()
    .click();
  await counted(page.locator(id('compared')), 3);
  assert.deepEqual(faults, []);
  await close();

  // A read that fails leaves the agents in view, and another try shows the rest.
  const later = await open('', { refusals: true });
  await later.page.route(`**/v1/agents/${b.agent_id}/opponents`, refuse);
  await later.go(`/compare?agents=${a.agent_id},${b.agent_id}`);
  await later.page.locator(id('read-error')).waitFor();
  await counted(later.page.locator(id('compared')), 2);
  await later.page.unroute(`**/v1/agents/${b.agent_id}/opponents`);
  await later.page.locator(`${id('read-error')} button`).click();
  await later.page.locator(id('head-to-head')).waitFor();
  await counted(later.page.locator(id('read-error')), 0);
  assert.deepEqual(later.faults, []);
  await later.close();

  const gone = await open(`/compare?agents=${a.agent_id},ag_none`, { refusals: true });
  await gone.page.locator(id('compare-missing')).waitFor();
  await gone.close();
});

test('a table sorts and filters in its address', async () => {
  const { page, faults, close } = await open('/leaderboard?league=trivia');
  await page.locator(id('standing')).first().waitFor();
  await page.locator(id('sort-agent')).click();
  const names = () => page.locator(`${id('standing')} .who bdi`).allInnerTexts();
  const sorted = async (order) => {
    const found = await names();
    return found.length > 8 && String(found) === String(found.toSorted((x, y) => order * x.localeCompare(y)));
  };
  await until('names in order', () => sorted(1));
  assert.match(await path(page), /sort=agent/);
  await page.locator(id('sort-agent')).click();
  await until('names in reverse', () => sorted(-1));
  assert.match(await path(page), /sort=-agent/);
  const wanted = (await names())[0];
  await page.locator(id('board-filter')).fill(wanted);
  await until('filter', async () => (await page.locator(id('standing')).count()) < 9);
  await page.goBack();
  assert.match(await path(page), /sort=agent/);
  assert.deepEqual(faults, []);
  await close();
});

test('a table says who plays, and is filtered by it in its address', async () => {
  const agents = shared.world.agents.filter((a) => a.ratings.trivia);
  const count = (fits) => agents.filter(fits).length;
  const { page, faults, close } = await open('/leaderboard?league=trivia');
  const of = (a) => page.locator(`${id('standing')}[data-agent="${a.agent_id}"]`);
  const [quill] = agents;
  await of(quill).locator(id('standing-facts'), { hasText: quill.owner_name }).waitFor();
  await of(quill).locator(id('standing-facts'), { hasText: quill.model }).waitFor();
  await of(quill).locator(id('standing-needs'), { hasText: 'needs 6 more matches for a rank' }).waitFor();
  await of(agents.find((a) => a.pull))
    .locator(id('standing-facts'), { hasText: 'AAP, fetches its tasks' })
    .waitFor();

  await page.locator(id('board-owner')).selectOption(quill.owner_id);
  await counted(
    page.locator(id('standing')),
    count((a) => a.owner_id === quill.owner_id),
  );
  await page.locator(id('board-rating')).selectOption('provisional');
  await counted(
    page.locator(id('standing')),
    count((a) => a.owner_id === quill.owner_id && a.ratings.trivia.provisional),
  );
  assert.equal(await path(page), `/leaderboard?league=trivia&owner=${quill.owner_id}&rating=provisional`);
  await page.locator(id('board-clear')).click();
  await counted(page.locator(id('standing')), agents.length);

  // The address alone draws the filtered table, also on a league's page.
  await page.goto(`${ORIGIN}/l/trivia?view=ratings&model=LangGraph&protocol=pull`);
  await counted(
    page.locator(id('standing')),
    count((a) => a.model === 'LangGraph' && a.pull),
  );
  assert.equal(await page.locator(id('board-model')).inputValue(), 'LangGraph');
  await page.goto(`${ORIGIN}/leaderboard?league=trivia&owner=ow_none`);
  await page.locator(id('board-filtered'), { hasText: 'No agent matches these filters.' }).waitFor();
  assert.deepEqual(faults, []);
  await close();
});

test('the table of another league takes the place of the first, also when it cannot be read', async () => {
  const { page, faults, close } = await open('/leaderboard?league=trivia', { refusals: true });
  await page.locator(id('standing')).first().waitFor();
  await page.route(/\/standings$/, refuse);
  await page
    .locator(`${id('leaderboard')} nav a:not([aria-current])`)
    .first()
    .click();
  await page.locator(`${id('leaderboard')} ${id('notice')}`).waitFor();
  await counted(page.locator(id('standing')), 0);
  await page.unroute(/\/standings$/);
  await page.locator(`${id('notice')} button`).click();
  await page.locator(id('notice')).waitFor({ state: 'detached' });
  assert.deepEqual(faults, []);
  await close();
});

test('a replay keeps its moment in the address and hides what comes', async () => {
  const { page, faults, settled, close } = await open(`/m/${duel.match_id}`);
  await settled(id('replay'));
  const outcomes = () => page.locator(`${id('timeline-round')} .bar > span`).count();
  assert.ok((await outcomes()) >= duel.round);
  await page.locator(id('match-compare')).waitFor();
  await page.keyboard.press('Home');
  await until('moment in the address', async () => /\?seq=\d+$/.test(await path(page)));
  assert.equal(await outcomes(), 0);
  await counted(page.locator(id('timeline-round')), duel.round);
  await page.reload();
  await settled(id('back-to-live'));
  assert.equal(await outcomes(), 0);
  await page.keyboard.press('End');
  await until('plain address', async () => (await path(page)) === `/m/${duel.match_id}`);
  assert.ok((await outcomes()) >= duel.round);
  assert.deepEqual(faults, []);
  await close();
});

test('an address that names nothing says so', async () => {
  const { page, go, close } = await open('', { refusals: true });
  for (const address of ['/nonsense', '/a/ag_none', '/l/none', '/m/m_none']) {
    await go(address);
    await page.locator(`${id('notice')}[data-kind="missing"]`).waitFor();
  }
  await close();
});

test('they fit every screen', async () => {
  const [a, b] = duel.seats.map((s) => s.agent_id);
  const more = shared.world.agents.slice(2, 4).map((x) => x.agent_id);
  const pages = {
    'find-matches': ['/matches', id('match-line')],
    'find-filtered': [`/matches?league=${duel.league}&agent=${a}&opponent=${b}&status=finished`, id('match-line')],
    'find-empty': ['/matches?to=2001-01-01', id('matches-empty')],
    'find-schedule': ['/schedule', `${id('schedule')}[aria-busy="false"]`],
    'find-duel': [`/compare?agents=${a},${b}`, id('match-line')],
    'find-four': [`/compare?agents=${[a, b, ...more].slice(0, 4).join(',')}`, id('compare-results')],
    'find-compare': ['/compare', id('compare-add')],
    'find-agent': [`/a/${a}`, id('opponents')],
    'find-table': [`/leaderboard?league=${duel.league}`, id('standings')],
    'find-recap': ['/recap', id('moment')],
    'find-recap-empty': ['/recap/2026-11-20', id('recap-empty')],
    'find-lobby': ['/', `${id('lobby')}[data-ready="true"]`, id('next')],
  };
  await checkPages(pages);
  await checkPages({ 'find-missing': ['/nonsense', id('notice')] }, { refusals: true });
});
