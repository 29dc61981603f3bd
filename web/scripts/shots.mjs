// Takes pictures of the pages on the fixture world, to look at while working:
// node scripts/shots.mjs OUT [page …] [--size=1440x900] [--theme=light] [--wait=ms]
import { chromium } from 'playwright-core';
import { serve } from './fixture-server.mjs';

const PAGES = {
  lobby: '/',
  duel: '/m/m_live_duel',
  table: '/m/m_live_table',
  arena: '/m/m_live_arena',
  large: '/m/m_live_large',
  reveal: '/m/m_reveal_arena',
  'done-duel': '/m/m_done_duel',
  'done-table': '/m/m_done_table',
  'done-arena': '/m/m_done_arena',
  next: '/m/m_next',
  void: '/m/m_void',
  debate: '/m/m_live_debate',
  judged: '/m/m_judged_debate',
  'done-debate': '/m/m_done_debate',
  'long-debate': '/m/m_long_debate',
  vote: '/m/m_vote',
  swiss: '/l/swiss',
  'swiss-done': '/l/swiss?season=2',
  robin: '/l/robin',
  'robin-done': '/l/robin?season=1',
  bracket: '/l/cup',
  'bracket-done': '/l/cup?season=1',
  double: '/l/second-chance',
  'double-done': '/l/second-chance?season=1',
  frozen: '/l/frozen',
  judge: '/l/debates',
  four: '/m/m_live_connect_four',
  'done-four': '/m/m_done_connect_four',
  chess: '/m/m_live_chess',
  dice: '/m/m_live_liars_dice',
  kuhn: '/m/m_live_kuhn_poker',
  blotto: '/m/m_done_colonel_blotto',
  talk: '/m/m_done_negotiation',
  'four-embed': '/embed/matches/m_live_connect_four',
  'four-league': '/l/connect-four',
  league: '/l/trivia',
  'league-empty': '/l/empty',
  leagues: '/leagues',
  leaderboard: '/leaderboard',
  tv: '/tv',
  agent: null,
  missing: '/nowhere',
};
const flags = Object.fromEntries(
  process.argv
    .slice(3)
    .filter((a) => a.startsWith('--'))
    .map((a) => a.slice(2).split('=')),
);
const names = process.argv.slice(3).filter((a) => !a.startsWith('--'));
const out = process.argv[2];

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic'],
});
const sizes = flags.size ? [flags.size] : ['1440x900', '390x844'];
const themes = flags.theme ? [flags.theme] : ['dark', 'light'];
for (const name of names.length ? names : Object.keys(PAGES)) {
  const server = await serve();
  const origin = `http://127.0.0.1:${server.address().port}`;
  const path =
    PAGES[name] ??
    `/a/${(await (await fetch(`${origin}/v1/leagues/trivia/standings`)).json()).items.find((s) => s.name === 'Kestrel').agent_id}`;
  for (const size of sizes)
    for (const theme of themes) {
      const [width, height] = size.split('x').map(Number);
      const page = await browser.newPage({ viewport: { width, height }, colorScheme: theme });
      page.on('console', (m) => ['error', 'warning'].includes(m.type()) && console.log(name, m.type(), m.text()));
      page.on('pageerror', (e) => console.log(name, 'threw', e.message));
      await page.goto(origin + path);
      await page.waitForTimeout(Number(flags.wait ?? 1200));
      await page.screenshot({ path: `${out}/${name}-${width}-${theme}.png`, fullPage: flags.full !== 'no' });
      await page.close();
    }
  server.stop();
}
await browser.close();
process.exit(0);
