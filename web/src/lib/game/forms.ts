// The four forms of a public state, read for drawing. The rules of a game may be
// anybody's: what does not fit is left out or cut, and a state that fits no form
// is drawn as none.

export interface Piece {
  readonly player: number;
  /** One character. */
  readonly symbol: string;
}

export interface Said {
  /** −1: nobody's. */
  readonly player: number;
  readonly text: string;
}

export interface Grid {
  readonly kind: 'grid';
  readonly rows: number;
  readonly columns: number;
  /** Row by row from the top; undefined: empty. */
  readonly cells: readonly (Piece | undefined)[];
  /** The kinds of pieces. */
  readonly pieces: readonly Piece[];
  readonly last: readonly number[];
  readonly line: readonly number[];
  /** Piece placement of a chess position, for the board of chess. */
  readonly fen: string;
  readonly caption: string;
}

export interface Hand {
  readonly player: number;
  /** "?" is a card that spectators must not see. */
  readonly cards: readonly string[];
  readonly dice: boolean;
  readonly chips?: number;
  /** Of this hand, in the pot. */
  readonly bet: number;
  readonly out: boolean;
}

export interface Cards {
  readonly kind: 'cards';
  readonly hands: readonly Hand[];
  readonly table: readonly string[];
  readonly pot: number;
  readonly log: readonly Said[];
  readonly hand: number;
  readonly total: number;
  readonly caption: string;
}

export interface Row {
  readonly player: number;
  readonly values: readonly string[];
  readonly total: string;
  readonly won: readonly number[];
}

export interface Table {
  readonly kind: 'table';
  readonly columns: readonly string[];
  readonly rows: readonly Row[];
  readonly unit: string;
  readonly bars: boolean;
  readonly caption: string;
}

export interface Line extends Said {
  readonly offer: string;
}

export interface Transcript {
  readonly kind: 'transcript';
  readonly lines: readonly Line[];
  readonly facts: readonly Said[];
  readonly caption: string;
}

export type Form = Grid | Cards | Table | Transcript;

/** Limits on what is drawn. */
const SIDE = 40;
const MOST = 400;
const SHORT = 60;
const LONG = 4000;

type Members = Readonly<Record<string, unknown>>;

const text = (v: unknown, most = SHORT): string => {
  const s = typeof v === 'string' ? v : typeof v === 'number' ? String(v) : '';
  return s.length > most ? `${[...s.slice(0, most)].slice(0, -1).join('')}…` : s;
};
const list = (v: unknown): readonly unknown[] => (Array.isArray(v) ? v.slice(0, MOST) : []);
const objects = (v: unknown): readonly Members[] => list(v).filter((o): o is Members => typeof o === 'object' && o !== null);
const count = (v: unknown): number => (typeof v === 'number' && Number.isFinite(v) ? v : 0);
const player = (v: unknown): number => (typeof v === 'number' && Number.isInteger(v) && v >= 0 ? v : -1);
const said = (o: Members): Said => ({ player: player(o['player']), text: text(o['text'], LONG) });
/** The newest: the end of a long conversation is what is watched. */
const newest = (v: unknown): readonly unknown[] => (Array.isArray(v) ? v.slice(-MOST) : []);

export function formOf(state: unknown): Form | undefined {
  if (typeof state !== 'object' || state === null) return undefined;
  const s = state as Members;
  const caption = text(s['caption'], 300);
  switch (s['kind']) {
    case 'grid':
      return gridOf(s, caption);
    case 'cards':
      return {
        kind: 'cards',
        caption,
        table: list(s['table']).map((c) => text(c)),
        pot: count(s['pot']),
        hand: count(s['hand']),
        total: count(s['hands_total']),
        log: objects(newest(s['log'])).map(said),
        hands: objects(s['hands']).map((h) => ({
          player: player(h['player']),
          cards: list(h['cards']).map((c) => text(c)),
          dice: h['dice'] === true,
          out: h['out'] === true,
          bet: count(h['bet']),
          ...(typeof h['chips'] === 'number' ? { chips: h['chips'] } : {}),
        })),
      };
    case 'table':
      return {
        kind: 'table',
        caption,
        columns: list(s['columns']).map((c) => text(c)),
        unit: text(s['unit']),
        bars: s['bars'] === true,
        rows: objects(s['rows']).map((r) => ({
          player: player(r['player']),
          values: list(r['values']).map((v) => text(v)),
          total: text(r['total']),
          won: list(r['won']).filter((n) => typeof n === 'number'),
        })),
      };
    case 'transcript':
      return {
        kind: 'transcript',
        caption,
        facts: objects(s['facts']).map(said),
        lines: objects(newest(s['lines'])).map((l) => ({ ...said(l), offer: text(l['offer'], LONG) })),
      };
    default:
      return undefined;
  }
}

function gridOf(s: Members, caption: string): Grid | undefined {
  const [rows, columns] = [count(s['rows']), count(s['columns'])];
  if (![rows, columns].every((n) => Number.isInteger(n) && n > 0 && n <= SIDE)) return undefined;
  const names = Array.isArray(s['cells']) ? (s['cells'] as unknown[]) : [];
  const pieces = typeof s['pieces'] === 'object' && s['pieces'] !== null ? (s['pieces'] as Members) : {};
  const pieceOf = (name: string): Piece => {
    const piece = Object.hasOwn(pieces, name) ? (pieces[name] as Members | null) : null;
    return { player: player(piece?.['player']), symbol: [...text(piece?.['symbol'] ?? name)][0] ?? '' };
  };
  const cells = Array.from({ length: rows * columns }, (_, i): Piece | undefined => {
    const name = names[i];
    return typeof name === 'string' && name ? pieceOf(name) : undefined;
  });
  const within = (v: unknown) =>
    list(v).filter((n): n is number => typeof n === 'number' && Number.isInteger(n) && n >= 0 && n < cells.length);
  return {
    kind: 'grid',
    rows,
    columns,
    cells,
    pieces: Object.keys(pieces).slice(0, MOST).map(pieceOf),
    last: within(s['last']),
    line: within(s['line']),
    caption,
    fen: s['board'] === 'chess' && rows === 8 && columns === 8 ? placementOf(text(s['fen'], 100)) : '',
  };
}

/** The piece placement of a FEN; "" for what is none. */
export function placementOf(fen: string): string {
  const placement = fen.split(' ')[0] ?? '';
  const ranks = placement.split('/');
  const fits =
    ranks.length === 8 && ranks.every((r) => /^[prnbqkPRNBQK1-8]+$/.test(r) && [...r].reduce((n, c) => n + (Number(c) || 1), 0) === 8);
  return fits ? placement : '';
}

/** The value of a die that a card names, 1 to 6; 0 for other cards. */
export const pips = (card: string): number => (/^[1-6]$/.test(card) ? Number(card) : 0);

/** How long the bar of a value is, 0 to 1, beside those of the same table; undefined for what is no number. */
export function barsOf(table: Table): readonly (readonly (number | undefined)[])[] {
  const value = (v: string) => (v.trim() && Number.isFinite(Number(v)) ? Number(v) : undefined);
  const rows = table.rows.map((r) => r.values.map(value));
  const most = Math.max(1e-9, ...rows.flat().map((v) => Math.abs(v ?? 0)));
  return rows.map((r) => r.map((v) => (v === undefined ? undefined : Math.abs(v) / most)));
}
