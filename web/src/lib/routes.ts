// The pages and their addresses. ../../routes.go has the same addresses: the
// server answers others with 404.

export type PageName =
  | 'lobby'
  | 'match'
  | 'matches'
  | 'schedule'
  | 'recap'
  | 'compare'
  | 'leagues'
  | 'league'
  | 'leaderboard'
  | 'agent'
  | 'console'
  | 'admin'
  | 'invite'
  | 'replay'
  | 'embed'
  | 'tv'
  | 'missing';

export interface Route {
  readonly page: PageName;
  readonly param: string;
  readonly query: URLSearchParams;
}

const PATTERNS: readonly (readonly [RegExp, PageName])[] = [
  [/^\/$/, 'lobby'],
  [/^\/m\/([^/]+)$/, 'match'],
  [/^\/matches$/, 'matches'],
  [/^\/schedule$/, 'schedule'],
  [/^\/recap$/, 'recap'],
  [/^\/recap\/([0-9]{4}-[0-9]{2}-[0-9]{2})$/, 'recap'],
  [/^\/compare$/, 'compare'],
  [/^\/tv$/, 'tv'],
  [/^\/leagues$/, 'leagues'],
  [/^\/l\/([^/]+)(?:\/seasons\/([0-9]+))?$/, 'league'],
  [/^\/leaderboard$/, 'leaderboard'],
  [/^\/a\/([^/]+)$/, 'agent'],
  [/^\/replay$/, 'replay'],
  [/^\/embed\/matches\/([^/]+)$/, 'embed'],
  [/^\/console(?:\/(.+))?$/, 'console'],
  [/^\/admin(?:\/(.+))?$/, 'admin'],
  [/^\/invite\/([^/]+)$/, 'invite'],
];

export function resolve(path: string, search = ''): Route {
  const clean = path.replace(/\/+$/, '') || '/';
  const query = new URLSearchParams(search);
  for (const [pattern, page] of PATTERNS) {
    const found = pattern.exec(clean);
    if (found?.[2]) query.set('season', found[2]);
    if (found) return { page, param: decode(found[1] ?? ''), query };
  }
  return { page: 'missing', param: clean, query };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
