// Replays the fixture world: the public routes of the API that the pages read,
// and the WebSocket. The clock is the world's: real time, or held by a test. For
// work on the pages and their tests only; nothing of it is built into them. Run
// alone it also serves dist/: npm run fixture [port] [--empty]
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { calibration, comparison, firstMover, gameTally, losses, opponents, results, topics, uptime } from './fixture-agent.mjs';
import { history, matchOf, world } from './fixture-world.mjs';

const MATCH_LEVEL = new Set([
  'match_scheduled',
  'match_started',
  'round_started',
  'vote_opened',
  'round_closed',
  'match_finished',
  'match_void',
  'agent_paused',
  'agent_left',
]);
const TICK_MS = 25;
const ALIVE_MS = 5_000;
const POLICY = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self' ws: wss:";

/**
 * Adds the world to a server: use(handler) takes its HTTP side.
 * @param {{ on(event: 'upgrade', listener: (req: any, socket: any) => void): unknown }} server
 * @param {(handler: (req: any, res: any, next: () => void) => void) => void} use
 */
export function attach(server, use, w = world()) {
  w.clock ??= Date.now;
  use(async (req, res, next) => {
    await w.frozen;
    const url = new URL(req.url, 'http://local');
    if (!url.pathname.startsWith('/v1/')) return next();
    res.setHeader('date', new Date(w.clock()).toUTCString()); // the pages set their clock by it
    if (req.method === 'POST' && url.pathname.endsWith('/guess')) return res.writeHead(204).end();
    if (req.method === 'POST') return voted(w, url, req, res);
    const body = route(w, url);
    if (typeof body === 'string') {
      res.writeHead(200, { 'content-type': 'application/x-ndjson' });
      return res.end(body);
    }
    res.writeHead(body ? 200 : 404, {
      'content-type': body ? 'application/json' : 'application/problem+json',
    });
    res.end(
      JSON.stringify(body ?? { status: 404, code: 'not_found', title: 'Not Found', detail: 'there is no such thing', type: 'about:blank' }),
    );
  });
  server.on('upgrade', (req, socket) => {
    const url = new URL(req.url, 'http://local');
    if (url.pathname === '/v1/stream') stream(w, url.searchParams, req, socket);
  });
}

/** Takes a vote; the second one from here is refused, to show how that looks. */
function voted(w, url, req, res) {
  w.votes = (w.votes ?? 0) + 1;
  const status = w.votes === 2 ? 429 : 200;
  res.writeHead(status, { 'content-type': 'application/json' });
  req
    .resume()
    .on('end', () =>
      res.end(
        JSON.stringify(
          status === 200 ? { round: 1, better: 'A', other: 'B' } : { status, code: 'rate_limited', title: 'Too Many Requests' },
        ),
      ),
    );
}

const list = (items) => ({ items, next_cursor: '' });

/** A part of a list, as many items as the request or the world asks for. */
function part(w, url, items) {
  const from = Number(url.searchParams.get('cursor'));
  const to = from + Number(url.searchParams.get('limit') ?? w.part ?? 50);
  return { items: items.slice(from, to), next_cursor: to < items.length ? String(to) : '' };
}

function route(w, url) {
  const now = w.clock();
  const [, , kind, id, more, sub] = url.pathname.split('/').map(decodeURIComponent);
  const whole = () => [...w.logs.values()].map((l) => matchOf(l, now)).sort((a, b) => b.created_at.localeCompare(a.created_at));
  const matches = () => whole().map(({ current_round, ...m }) => ({ ...m, ...(m.status === 'running' && { current_round }) }));
  const agent = w.agents.find((a) => a.agent_id === id);
  if (kind === 'leagues' && !id) return list(w.leagues);
  if (kind === 'leagues' && w.leagues.some((l) => l.slug === id)) {
    if (!more) return w.leagues.find((l) => l.slug === id);
    const seasons = w.seasons?.[id] ?? [];
    if (more === 'seasons' && sub) return seasons.find((s) => s.season === Number(sub));
    if (more === 'seasons')
      return part(
        w,
        url,
        seasons.map(({ frozen: _f, entrants: _e, table: _t, rounds: _r, ...s }) => s),
      );
    if (more === 'comparison') return comparison(id, ofGames(w, id), url.searchParams.get('a'), url.searchParams.get('b'));
    if (more === 'audit') return w.audits?.[id] ?? { status: 'none', cheats: [], opponents: [], findings: [] };
    if (more === 'judge') return { league: id, ...w.judges?.[id] };
    if (more === 'standings')
      return {
        ...list(w.hidden?.has(id) ? [] : standings(w, id)),
        ...(w.hidden?.has(id) ? {} : { tiers: tiers(w, id) }),
        league: id,
        frozen: w.hidden?.has(id) ?? false,
        drift: 0,
        ...(ofGames(w, id) ? { first_mover: firstMover } : {}),
      };
  }
  if (kind === 'matches' && !id) {
    const want = (name) => url.searchParams.get(name);
    const seats = [want('agent'), want('opponent')].filter(Boolean);
    const found = matches().filter(
      (m) =>
        (!want('status') || want('status').split(',').includes(m.status)) &&
        (!want('league') || m.league === want('league')) &&
        (!want('q') || m.seats.some((s) => s.name.includes(want('q')))) &&
        (!want('from') || m.created_at >= want('from')) &&
        (!want('to') || m.created_at < want('to')) &&
        seats.every((id) => m.seats.some((s) => s.agent_id === id)),
    );
    return part(w, url, found);
  }
  if (kind === 'recap')
    return recap(
      matches().filter((m) => m.status === 'finished'),
      url.searchParams,
    );
  if (kind === 'banner') return { text: '' };
  if (kind === 'marks') return { marks: w.marks ?? {} };
  if (kind === 'lobby') {
    const of = (status) => matches().filter((m) => m.status === status);
    return {
      live: of('running'),
      next: of('scheduled'),
      recent: of('finished'),
      ratings: {},
      leagues: w.leagues.map((league) => ({ league })),
      upsets: [],
      movers: [],
      banner: { text: '' },
    };
  }
  if (kind === 'matches' && w.logs.has(id)) {
    if (!more) return matchOf(w.logs.get(id), now);
    const shown = w.logs.get(id).filter((e) => Date.parse(e.ts) <= now);
    if (more === 'guesses')
      return list(shown.filter((e) => e.type === 'round_closed').map(({ round }) => ({ round, answers: { A: 3, B: 8, D: 1 } })));
    if (more === 'events') return shown.map((e) => JSON.stringify(e)).join('\n');
  }
  if (kind === 'agents' && !id)
    return part(
      w,
      url,
      w.agents.filter((a) => a.name.includes(url.searchParams.get('q') ?? '')),
    );
  if (kind === 'agents' && agent) {
    if (!more) return agent;
    if (more === 'matches') return list(matches().filter((m) => m.status !== 'scheduled' && m.seats.some((s) => s.agent_id === id)));
    if (more === 'outcomes') return results(agent);
    if (more === 'opponents') return list(opponents(agent, w.agents));
    if (more === 'calibration') return calibration(agent);
    if (more === 'losses') return { items: losses(), next_cursor: '' };
    if (more === 'topics') return topics();
    if (more === 'uptime') return list(uptime(now));
    if (more === 'ratings')
      return list(
        Object.entries(agent.ratings).map(([league, r]) => ({
          league,
          ...r,
          peak: r.rating + 30,
          history: history(agent, league, w.now),
          rank: 3,
        })),
      );
  }
  return undefined;
}

/** A moment of each kind, whatever was played; a season has those that its story shows, and days have neighbors. */
function recap(finished, query) {
  const duel = finished.find((m) => m.seats.length === 2);
  const large = finished.find((m) => m.seats.length > 2) ?? duel;
  const of = (m, kind, numbers = {}) => ({
    kind,
    match_id: m.match_id,
    league: m.league,
    round: 0,
    seats: m.seats.length,
    rounds: m.round,
    agents: m.seats
      .toSorted((a, b) => (a.place ?? 9) - (b.place ?? 9))
      .slice(0, 2)
      .map(({ agent_id, name, points }) => ({ agent_id, name, points })),
    ...numbers,
  });
  const all = duel
    ? [
        of(duel, 'upset', { chance: 0.09 }),
        of(duel, 'comeback', { round: 3, seq: 20, behind: 2 }),
        of(duel, 'perfect'),
        of(large, 'last_standing', { round: large.round, seq: 30 }),
        of(duel, 'close', { ahead: 0.5 }),
      ]
    : [];
  if (query.has('league')) return { matches: finished.length, moments: all };
  const day = query.get('day') ?? '2026-11-21';
  const near = (days) => new Date(Date.parse(day) + days * 86_400_000).toISOString().slice(0, 10);
  const moments = day === '2026-11-20' ? [] : all;
  return { day, earlier: near(-1), ...(query.has('day') && { later: near(1) }), matches: moments.length && finished.length, moments };
}

const ofGames = (w, slug) => w.games.includes(slug);

/** What pages read first, from the table of the server. */
const FIRST = [
  ...readFileSync(new URL('../routes.go', import.meta.url), 'utf8').matchAll(/MustCompile\(`(.+)`\), "\w*", \[\]string\{(.+)\}\}/g),
].map(([, pattern, reads]) => ({ pattern: new RegExp(pattern), reads: JSON.parse(`[${reads}]`) }));

/** A page with the answers to what it reads first, as ../first.go makes it. */
function carry(w, path, page) {
  const { pattern, reads } = FIRST.find((f) => f.pattern.test(path)) ?? { reads: [] };
  const groups = pattern?.exec(path) ?? [];
  const answers = {};
  let last;
  for (const read of reads) {
    if (read.includes('$2') && !groups[2]) continue;
    const address = read.replace('$1', groups[1]).replace('$2', groups[2]).replace('{league}', last?.league);
    last = route(w, new URL(address, 'http://local'));
    if (last) answers[address] = last;
  }
  const block = JSON.stringify({ date: new Date(w.clock()), answers }).replaceAll('<', '\\u003c');
  return page.replace('</body>', () => `<script type="application/json" id="first">${block}</script></body>`);
}

function standings(w, slug) {
  const games = ofGames(w, slug);
  const of = games ? 'trivia' : slug;
  const rated = w.agents
    .filter((a) => a.ratings[of] && slug !== 'empty')
    .map((a) => ({
      agent_id: a.agent_id,
      name: a.name,
      owner_id: a.owner_id,
      owner_name: a.owner_name,
      status: a.status,
      protocol: a.protocol,
      pull: a.pull,
      model: a.model,
      ...a.ratings[of],
      opponents: 8,
      opponent_groups: 5,
      recent: history(a, of, w.now, 20).map((p) => p.rating),
      ...(games ? { games: gameTally(a) } : {}),
    }));
  rated.sort((a, b) => b.rating - a.rating);
  let rank = 0;
  const ranked = rated.filter((s) => s.rated_matches >= 10).map((s) => ({ ...s, rank: ++rank, low: s.rating - 44, high: s.rating + 32 }));
  const tested = TESTED.includes(of);
  const placed = ranked.map(({ low, high, ...s }) => {
    const tier = 1 + ranked.filter((o) => o.low > high).length;
    const last = ranked.length - ranked.filter((o) => o.high < low).length;
    const fit = { rating: s.rating - 6, low, high, rank_low: tested ? tier : 1, rank_high: tested ? last : ranked.length, island: 1 };
    return tested ? { ...s, tier, tier_range: [tier, last], fit } : { ...s, fit };
  });
  return [...placed, ...rated.filter((s) => s.rated_matches < 10)];
}

/** Leagues whose results tell agents apart. */
const TESTED = ['trivia'];

function tiers(w, slug) {
  const table = standings(w, slug).filter((s) => s.tier);
  const pair = table.flatMap((a) => table.filter((b) => a.tier === b.tier && a.rating < b.rating).map((b) => [a, b]))[0];
  return {
    ...(table.length ? {} : { reason: 'too_few_matches' }),
    owner_groups: 8,
    needed_opponents: 6,
    max_agents: 2000,
    conflicts: pair ? [{ better: pair[0].agent_id, worse: pair[1].agent_id }] : [],
    cycles: table.length > 2 ? [table.slice(0, 3).map((s) => s.agent_id)] : [],
  };
}

function stream(w, query, req, socket) {
  const key = createHash('sha1').update(`${req.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${key}\r\n\r\n`);
  const frame = (op, data) => {
    const n = data.length;
    const head =
      n < 126
        ? Buffer.from([0x80 | op, n])
        : n < 65536
          ? Buffer.from([0x80 | op, 126, n >> 8, n & 255])
          : Buffer.from([0x80 | op, 127, 0, 0, 0, 0, n >>> 24, (n >> 16) & 255, (n >> 8) & 255, n & 255]);
    socket.write(Buffer.concat([head, data]));
  };
  const say = (...messages) => frame(1, Buffer.from(messages.map((m) => JSON.stringify(m)).join('\n')));
  const match = query.get('match');
  const wide = [...w.logs.values()]
    .flat()
    .filter((e) => MATCH_LEVEL.has(e.type))
    .sort((a, b) => a.ts.localeCompare(b.ts));
  const log = match
    ? (w.logs.get(match) ?? [])
    : wide.filter((e) => !query.get('league') || w.logs.get(e.match_id)[0].league === query.get('league'));
  let next = match ? Number(query.get('since')) : log.findIndex((e) => Date.parse(e.ts) > w.clock());
  if (next < 0) next = log.length;
  say({
    type: 'hello',
    topic: match ? `match:${match}` : 'lobby',
    seq: match ? (log.findLast((e) => Date.parse(e.ts) <= w.clock())?.seq ?? 0) : 0,
    epoch: 'fixture',
  });
  if (match) say({ match_id: match, ts: new Date(w.clock()).toISOString(), type: 'viewers', count: 17 });
  let quiet = 0;
  const tick = () => {
    const from = next;
    while (next < log.length && Date.parse(log[next].ts) <= w.clock()) next++;
    quiet = next > from ? 0 : quiet + TICK_MS;
    if (next > from) say(...log.slice(from, next));
    else if (quiet % ALIVE_MS === 0) say(); // else the page would take the connection for lost
    if (match && next >= log.length) {
      clearInterval(timer);
      frame(8, Buffer.from([0x03, 0xe8]));
    }
  };
  const timer = setInterval(tick, TICK_MS);
  tick();
  socket.on('data', () => {});
  socket.on('end', () => socket.end());
  socket.on('close', () => clearInterval(timer));
  socket.on('error', () => clearInterval(timer));
}

/** Serves dist/ and the world on 127.0.0.1, pages with their first answers if the world carries them; gives the server, whose stop() ends it at once. */
export function serve(port = 0, w = world()) {
  const dist = fileURLToPath(new URL('../dist', import.meta.url));
  const types = {
    '.js': 'text/javascript',
    '.css': 'text/css',
    '.svg': 'image/svg+xml',
    '.woff2': 'font/woff2',
    '.html': 'text/html; charset=utf-8',
  };
  let api;
  const server = createServer((req, res) =>
    api(req, res, () => {
      const path = new URL(req.url, 'http://local').pathname;
      const file = extname(path) && existsSync(dist + path) ? path : path.startsWith('/embed/') ? '/embed.html' : '/index.html';
      const carries = w.carries && extname(file) === '.html';
      const short = !carries && (req.headers['accept-encoding'] ?? '').includes('br') && existsSync(`${dist}${file}.br`);
      res.writeHead(200, {
        'content-type': types[extname(file)] ?? 'application/octet-stream',
        'content-security-policy': POLICY,
        'cache-control': file.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache',
        ...((short || carries) && { 'content-encoding': short ? 'br' : 'gzip' }),
      });
      const body = readFileSync(dist + file + (short ? '.br' : ''));
      res.end(carries ? gzipSync(carry(w, path, String(body))) : body);
    }),
  );
  attach(server, (handler) => (api = handler), w);
  // A socket that was upgraded is not closed with the server, and would keep the process alive.
  const upgraded = new Set();
  server.on('upgrade', (_, socket) => upgraded.add(socket));
  server.stop = () => {
    upgraded.forEach((socket) => socket.destroy());
    server.closeAllConnections();
    server.close();
  };
  return new Promise((resolve) => server.listen(port, '127.0.0.1', () => resolve(server)));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const empty = process.argv.includes('--empty') ? { leagues: [], logs: new Map(), agents: [], now: Date.now() } : undefined;
  const server = await serve(Number(process.argv[2]) || 5180, empty);
  console.log(`http://127.0.0.1:${server.address().port}`);
}
