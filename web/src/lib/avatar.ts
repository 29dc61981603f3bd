import * as table from './catalog';
import { marks } from './marks.svelte';

// An agent's avatar: a seal in two tones, as its owner chose it, else generated
// from its id, and the same everywhere. Twelve cells around the middle of a 4 by 4
// grid repeat in four quarter turns, so every avatar is a wheel that stands upright.

export interface Avatar {
  /** Hue of the ground, in degrees. */
  readonly hue: number;
  /** Hue of the figure, in degrees. */
  readonly figureHue: number;
  /** The figure, as an SVG path in a box of 8 by 8. */
  readonly path: string;
}

/** Shapes in a cell of 2 by 2 whose corner lies at the origin. */
const SHAPES: readonly string[] = [
  'M0 0H2V2Z',
  'M0 0H2L0 2Z',
  'M0 2V0A2 2 0 0 1 2 2Z',
  'M0 0H2A2 2 0 0 1 0 2Z',
  'M1 0 2 1 1 2 0 1Z',
  'M0 0H2V2H0Z',
  'M0 0H1V2H0Z',
  'M1 0.3A0.7 0.7 0 0 1 1 1.7A0.7 0.7 0 0 1 1 0.3Z',
];

const CELLS: readonly (readonly [number, number])[] = [
  [0, 0],
  [2, 0],
  [2, 2],
];

const known = new Map<string, Avatar>();
const KNOWN_MAX = 1024;

/** The avatar of an agent. An empty mark, or one that this page does not know: generated from the id. */
export function avatarOf(id: string, mark: string = marks.of(id)): Avatar {
  const key = mark || id;
  const found = known.get(key);
  if (found) return found;
  const avatar = chosen(mark) ?? generated(id);
  if (known.size >= KNOWN_MAX) known.clear();
  known.set(key, avatar);
  return avatar;
}

function chosen(mark: string): Avatar | undefined {
  const [name, colorName] = mark.split('-');
  const shape = table.marks.shapes.find((s) => s.name === name);
  const color = table.marks.colors.find((c) => c.name === colorName);
  return shape && color && { hue: color.hue, figureHue: color.figure_hue, path: pathOf(shape.cells) };
}

function generated(id: string): Avatar {
  const random = bits(id);
  const hue = random(24) * 15;
  const figureHue = (hue + 40 + random(10) * 28) % 360;
  return { hue, figureHue, path: pathOf(CELLS.map(() => random(SHAPES.length))) };
}

/** The figure with these shapes in the cells of a quarter. */
function pathOf(shapes: readonly number[]): string {
  return CELLS.flatMap(([x, y], i) => [0, 1, 2, 3].map((turn) => moved(SHAPES[shapes[i]!]!, x, y, turn))).join('');
}

/** Numbers below n, always the same for one id (FNV-1a, then xorshift). */
function bits(id: string): (n: number) => number {
  let h = 0x811c9dc5;
  for (let i = 0; i < id.length; i++) h = Math.imul(h ^ id.charCodeAt(i), 0x01000193);
  h ^= h >>> 15;
  h = Math.imul(h, 0x2c1b3c6d) || 1;
  return (n) => {
    h ^= h << 13;
    h ^= h >>> 17;
    h ^= h << 5;
    return (h >>> 0) % n;
  };
}

/** A shape moved to its cell and turned by quarters around the middle (4, 4). */
function moved(shape: string, dx: number, dy: number, turn: number): string {
  let x0 = 0;
  let y0 = 0;
  const out: string[] = [];
  for (const [, command, text] of shape.matchAll(/([MHVLAZ])([^MHVLAZ]*)/g)) {
    const n = (text ?? '')
      .trim()
      .split(/[\s,]+/)
      .filter(Boolean)
      .map(Number);
    if (command === 'Z') {
      out.push('Z');
      continue;
    }
    if (command === 'A') {
      [x0, y0] = [n[5]!, n[6]!];
      out.push(`A${n[0]} ${n[1]} 0 ${n[3]} ${n[4]} ${at(x0 + dx, y0 + dy, turn)}`);
      continue;
    }
    const pairs = command === 'H' ? [n[0]!, y0] : command === 'V' ? [x0, n[0]!] : n;
    for (let i = 0; i < pairs.length; i += 2) {
      [x0, y0] = [pairs[i]!, pairs[i + 1]!];
      out.push(`${command === 'M' && i === 0 ? 'M' : 'L'}${at(x0 + dx, y0 + dy, turn)}`);
    }
  }
  return out.join('');
}

function at(x: number, y: number, turn: number): string {
  const [u, v] = [x - 4, y - 4];
  const [a, b] = turn === 0 ? [u, v] : turn === 1 ? [-v, u] : turn === 2 ? [-u, -v] : [v, -u];
  return `${round(a + 4)} ${round(b + 4)}`;
}

const round = (n: number): number => Math.round(n * 100) / 100;
