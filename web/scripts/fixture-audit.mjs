// Audits of a league, as GET /v1/leagues/{slug}/audit answers, and what the league has of them.
const NAMES = ['silence', 'constant', 'first_option', 'echo', 'injection', 'copier', 'clones', 'late'];
const GUESSES = NAMES.slice(1, 5);
const SCALE = {
  p05: [0.05, 0.02, 0.14],
  p25: [0.283, 0.185, 0.408],
  p50: [0.483, 0.362, 0.606],
  p75: [0.733, 0.61, 0.829],
  p95: [0.95, 0.863, 0.983],
};

/** A report in which these cheats succeed and these findings are there. */
export function audit({ succeed = [], found = [], untried = [], ...more } = {}) {
  const cheats = NAMES.map((name) => {
    if (untried.includes(name)) return { name, tried: 0, share: 0, chance: 0, low: 0, high: 0, passed: false };
    const guess = GUESSES.includes(name);
    const [share, low, high] = succeed.includes(name) ? [1, 0.94, 1] : guess ? [0.233, 0.144, 0.354] : [0, 0, 0.39];
    return { name, tried: guess ? 60 : 6, share, chance: guess ? 0.25 : 0, low, high, passed: !succeed.includes(name) };
  });
  const opponents = Object.entries(SCALE).map(([name, [share, low, high]]) => ({ name, tried: 60, share, low, high }));
  return { status: 'done', at: '2026-11-21T09:30:00.000Z', cheats, opponents, findings: found, ...more };
}

/** The member audit of a league with a report. */
export const summary = ({ cheats, findings, opponents: _, ...report }) => ({
  ...report,
  passed: cheats.filter((c) => c.passed).length,
  tried: cheats.filter((c) => c.tried).length,
  findings: findings.length,
});
