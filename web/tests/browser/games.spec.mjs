// Watches recorded games in headless Chromium: each form of public state.
//
//   scripts/browser-test.sh games.spec.mjs
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkPages, counted, grave, id, mapAll, open, SCREENS, until } from './kit/kit.mjs';
import { recording, shared } from './kit/recording.mjs';

const ready = `${id('match')}[data-ready="true"]`;
const KINDS = {
  connect_four: 'grid',
  chess: 'grid',
  liars_dice: 'cards',
  kuhn_poker: 'cards',
  colonel_blotto: 'table',
  negotiation: 'transcript',
};
const shown = (kind) => `${id('layout-game')} ${id('game-board')}[data-kind="${kind}"]`;

test('every form of a game fits phones and desks, in both themes', async () => {
  await checkPages(
    Object.fromEntries(
      Object.entries(KINDS).map(([name, kind]) => [`game-${name.replaceAll('_', '-')}`, [`/m/m_done_${name}`, shown(kind)]]),
    ),
    {
      bypassCSP: true,
      reducedMotion: 'reduce',
      check: async (page, name, recolored) => assert.deepEqual(await grave(page, { within: id('layout-game'), recolored }), [], name),
    },
  );
});

test('the row of rounds keeps its cells when the log of a match comes late and in parts', async () => {
  const match = 'm_done_connect_four';
  const log = shared.world.logs.get(match);
  const { page, faults, go, close } = await open('');
  let stream;
  const send = (...messages) => stream.send(messages.map((m) => JSON.stringify(m)).join('\n'));
  await page.routeWebSocket(
    (url) => url.searchParams.get('match') === match,
    (socket) => {
      stream = socket;
      send({ type: 'hello', topic: `match:${match}`, seq: log.at(-1).seq, epoch: 'fixture' });
    },
  );
  await page.clock.install();
  await go(`/m/${match}?seq=${log.at(-1).seq}`); // a moment is not shown before its log
  await until('the stream', () => stream);
  await page.clock.fastForward(2_000); // so long a page waits for all of the log before it shows a part
  await page.locator(id('timeline')).waitFor();
  const cells = page.locator(id('timeline-round'));
  const width = () => cells.first().evaluate((c) => c.getBoundingClientRect().width);
  const part = log.findIndex((e) => e.round === 6);
  send(...log.slice(0, part));
  await cells.nth(4).waitFor();
  await counted(cells, 5);
  const before = await width();
  send(...log.slice(part));
  await cells.nth(log.filter((e) => e.type === 'round_started').length - 1).waitFor();
  assert.equal(await width(), before);
  assert.deepEqual(faults, []);
  await close();
});

test('a game is wound by move, and the moves after the slider are not shown', async () => {
  const { page, faults, close } = await open('/m/m_done_connect_four');
  await page.locator(ready).waitFor();
  await page.locator(shown('grid')).waitFor();
  const moves = page.locator(id('move'));
  const all = await moves.count();
  assert.ok(all > 20, `${all} moves`);

  const slider = page.getByRole('slider');
  await slider.focus();
  await page.keyboard.press('Home');
  await page.locator(`${id('layout-game')}[data-game="1"][data-turn="1"]`).waitFor();
  await counted(moves, 0);
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await page.locator(`${id('layout-game')}[data-turn="3"]`).waitFor();
  await counted(moves, 2);
  assert.match(await slider.getAttribute('aria-valuetext'), /^Game 1, move 3/);

  await moves.first().getByRole('button').click();
  await page.locator(`${id('layout-game')}[data-turn="1"]`).waitFor();
  await counted(moves, 1);
  await slider.focus();
  await page.keyboard.press('End');
  await page.locator(`${id('layout-game')}[data-game="4"]`).waitFor();
  await page.locator(id('result')).waitFor();
  await counted(moves, all);

  // What was not played as it should is said in words, and sides that were swapped are marked.
  assert.deepEqual(await mapAll(page, `${id('move')}:not([data-manner="played"])`, '(li) => li.dataset.manner'), [
    'retried',
    'forfeit',
    'forfeit',
  ]);
  assert.match(await page.locator(id('notes')).innerText(), /two illegal moves.*loses the game/is);
  await page.locator(id('swapped')).waitFor();

  // They keep their order and have one color each: avatar, card, piece and bar. Beside the board stands what they thought last.
  const names = (within) => mapAll(page, `${within} a[href^="/a/"]`, '(a) => a.textContent.trim()');
  assert.deepEqual(await names(id('players')), await names(id('scoreboard')));
  const colors = (within, property) => mapAll(page, within, `(e) => getComputedStyle(e).${property}`);
  const cards = await colors(id('player'), 'borderInlineStartColor');
  assert.equal(new Set(cards).size, 2);
  assert.deepEqual(await colors(`${id('scoreboard')} .ground`, 'fill'), cards);
  assert.deepEqual((await colors(`${id('odds')} .bar .own`, 'backgroundColor')).toReversed(), cards);
  assert.equal((await colors(`${id('player')} .disc:not(.ringed)`, 'backgroundColor'))[0], cards[0]);
  assert.match(await page.locator(id('doing')).first().innerText(), /I look at the position/);
  assert.deepEqual(faults, []);
  await close();
});

test('chess has a board of its own, loaded only where it is shown', async () => {
  const { page, faults, go, close } = await open('');
  const parts = [];
  page.on('request', (r) => parts.push(new URL(r.url()).pathname));
  await go('/m/m_done_connect_four');
  await page.locator(shown('grid')).waitFor();
  assert.deepEqual(
    parts.filter((p) => /ChessView|pieces/.test(p)),
    [],
  );
  await go('/m/m_done_chess');
  await page.locator(`${shown('grid')} .chess [data-piece="wk"]`).waitFor();
  await page.locator(id('evaluation')).waitFor();
  assert.equal(await page.locator(`${id('notation')}[download]`).getAttribute('href'), '/v1/matches/m_done_chess/notation');
  assert.ok(parts.some((p) => p.includes('ChessView')));
  assert.deepEqual(faults, []);
  await close();
});

test('lists of matches say which move it is, and small stages show the board', async (t) => {
  const own = await recording(t);
  const { page, faults, go, close } = await open('/l/connect-four', { origin: own.origin });
  const live = page.locator(id('live-match'), { hasText: /Game \d of 4, move \d+/ });
  await live.waitFor();
  await page.setViewportSize({ width: 640, height: 400 });
  await go('/embed/matches/m_live_connect_four');
  await page.locator(`${id('game-small')} ${id('game-board')}[data-kind="grid"]`).waitFor();
  if (SCREENS) await page.screenshot({ path: `${SCREENS}/game-embed-640.png`, animations: 'disabled' });
  assert.deepEqual(faults, []);
  await close();
});

test('the boards of a league stand in their places, move with its stream, and stay when a match ends', async (t) => {
  const own = await recording(t);
  const first = 'm_live_connect_four';
  for (let n = 1; n <= 12; n++)
    own.world.logs.set(
      `${first}_${n}`,
      own.world.logs.get(first).map((e) => ({ ...e, match_id: `${first}_${n}`, ts: new Date(Date.parse(e.ts) + n).toISOString() })),
    );
  own.to(first, (e) => e.type === 'round_started' && Date.parse(e.ts) > own.now() + 20); // a move is awaited everywhere
  own.pass(20);
  const { page, faults, close } = await open('/l/connect-four', { origin: own.origin });
  const reads = [];
  page.on('request', (r) => reads.push(r.url()));
  page.on('websocket', (s) => reads.push(s.url()));
  await page.getByRole('link', { name: 'All boards' }).click();
  const boards = page.locator(`${id('boards')} ${id('live-match')}`);
  await counted(boards.locator(`${id('game-board')}[data-kind="grid"]`), 12);
  assert.match(await page.locator(id('boards-more')).innerText(), /\+1 /);
  await counted(page.locator(id('live-match')), 12); // no second list of them
  const places = () =>
    mapAll(page, `${id('boards')} ${id('live-match')}`, (m) =>
      [m.dataset.match, m.getAttribute('href'), m.offsetLeft, m.offsetTop].join(' '),
    );
  const stones = () => boards.first().locator('.piece.own').count();
  const before = await places();
  const [match] = before[0].split(' ');
  assert.match(before[0], new RegExp(` /m/${match} `));
  await counted(boards.first().getByText('to move'), 1);

  const many = await stones();
  const moved = own.to(match, (e) => e.type === 'round_started' && Date.parse(e.ts) > own.now());
  await boards.first().getByText(`move ${moved.state.turn}`).waitFor();
  await until('the stone of the move', async () => (await stones()) === many + 1);
  assert.deepEqual(await places(), before);

  own.to(match);
  await boards.first().getByText('final').waitFor();
  assert.deepEqual(await places(), before);
  await counted(boards.first().getByText('to move'), 0);
  assert.deepEqual(
    reads.filter((url) => /\/v1\/(matches\/|stream\?match)/.test(url)),
    [],
  );
  assert.deepEqual(faults, []);
  await close();
});

test('the boards of a league fit phones and desks, in both themes', async (t) => {
  const own = await recording(t);
  const kinds = Object.entries(KINDS).filter(([name]) => ['chess', 'colonel_blotto'].includes(name)); // square boards and what is wide
  for (const [name] of kinds)
    own.world.logs.set(
      `m_second_${name}`,
      own.world.logs.get(`m_live_${name}`).map((e) => ({ ...e, match_id: `m_second_${name}` })),
    );
  await checkPages(
    Object.fromEntries(
      kinds.map(([name, kind]) => [
        `boards-${name.replaceAll('_', '-')}`,
        [`/l/${name.replaceAll('_', '-')}?view=boards`, `${id('boards')} ${id('game-board')}[data-kind="${kind}"]`],
      ]),
    ),
    {
      origin: own.origin,
      bypassCSP: true,
      reducedMotion: 'reduce',
      check: async (page, name, recolored) => assert.deepEqual(await grave(page, { within: id('boards'), recolored }), [], name),
    },
  );
});

test('a league counts all its games or those that were played out, and says what moving first is worth', async () => {
  const { page, faults, close } = await open('/l/connect-four');
  const rows = () => mapAll(page, id('standing'), (r) => [...r.querySelectorAll('.score, .record')].map((c) => c.textContent.trim()));
  const score = ([s]) => Number.parseInt(s, 10);
  await page.locator(id('standings')).waitFor();
  const all = await rows();
  assert.equal(await page.locator(id('first-mover')).getAttribute('data-games'), '412');

  await page.locator(id('results-played_out')).click();
  await page.locator(`${id('first-mover')}[data-games="331"]`).waitFor();
  assert.equal(new URL(page.url()).search, '?results=played_out');
  const played = await rows();
  assert.equal(played.length, all.length);
  assert.notDeepEqual(played.map(String).sort(), all.map(String).sort(), 'the records differ');
  assert.deepEqual(
    played.map(score),
    played.map(score).sort((a, b) => b - a),
    'the best score is first',
  );
  assert.match(await page.locator(id('results-note')).textContent(), /ended by their rules/);

  // Order, filter and the choice stand in the address together.
  await page.locator(id('sort-rank')).click();
  await page.waitForURL(/results=played_out&sort=rank$/);
  await page.reload();
  await page.locator(`${id('results-played_out')}[aria-current="true"]`).waitFor();
  await page.locator(id('results-all')).click();
  await page.waitForURL(/\/l\/connect-four$/);
  await page.locator(`${id('first-mover')}[data-games="412"]`).waitFor();
  assert.deepEqual(await rows(), all);

  // A league of questions has no such choice.
  await page.goto(`${shared.origin}/l/trivia`);
  await page.locator(id('standings')).waitFor();
  await counted(page.locator(id('results-switch')), 0);

  const agent = (await (await fetch(`${shared.origin}/v1/leagues/connect-four/standings`)).json()).items[0].agent_id;
  await page.goto(`${shared.origin}/a/${agent}`);
  await page.locator(`${id('game-ends')} [data-league="connect-four"]`).waitFor();
  assert.deepEqual(faults, []);
  await close();
  await checkPages(
    {
      'game-results': ['/l/connect-four', id('first-mover')],
      'game-results-played': ['/l/connect-four?results=played_out', id('first-mover')],
      'game-ends': [`/a/${agent}`, id('game-ends')],
    },
    { bypassCSP: true, reducedMotion: 'reduce' },
  );
});
