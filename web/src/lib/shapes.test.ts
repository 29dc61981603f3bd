import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { SHAPES } from './shapes';

type Node = readonly [tag: string, attributes: Readonly<Record<string, string>>];

/** The elements of a lucide icon as one path. */
function pathOf(nodes: readonly Node[]): string {
  return nodes
    .map(([tag, at]) => {
      const n = (name: string) => Number(at[name] ?? 0);
      const [x, y, w, h] = [n('x'), n('y'), n('width'), n('height')];
      const rx = at['rx'] === undefined ? n('ry') : n('rx');
      switch (tag) {
        case 'path':
          // After another path, a first "m" would be relative; what follows it without a letter is a relative line.
          return at['d']!.replace(/^m\s*(-?[\d.]+)[\s,]*(-?[\d.]+)\s*(?=([-\d.])?)/, (_, a, b, line) => `M${a} ${b}${line ? 'l' : ''}`);
        case 'circle':
          return `M${n('cx') - n('r')} ${n('cy')}a${n('r')} ${n('r')} 0 1 0 ${2 * n('r')} 0a${n('r')} ${n('r')} 0 1 0 ${-2 * n('r')} 0`;
        case 'line':
          return `M${at['x1']} ${at['y1']}L${at['x2']} ${at['y2']}`;
        case 'rect':
          return `M${x + rx} ${y}h${w - 2 * rx}a${rx} ${rx} 0 0 1 ${rx} ${rx}v${h - 2 * rx}a${rx} ${rx} 0 0 1 ${-rx} ${rx}h${2 * rx - w}a${rx} ${rx} 0 0 1 ${-rx} ${-rx}v${2 * rx - h}a${rx} ${rx} 0 0 1 ${rx} ${-rx}`;
        default:
          throw new Error(`no path for <${tag}>`);
      }
    })
    .join('');
}

it('the shapes are those of lucide', () => {
  const drawn = Object.fromEntries(
    Object.keys(SHAPES).map((name) => {
      const source = readFileSync(`node_modules/@lucide/svelte/dist/icons/${name}.svelte`, 'utf8');
      const { node } = JSON.parse(/const iconData = (\{.*\});/.exec(source)![1]!) as { node: Node[] };
      return [name, pathOf(node)];
    }),
  );
  expect(SHAPES).toEqual(drawn);
});
