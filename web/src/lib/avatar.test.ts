import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { avatarOf } from './avatar';
import { marks as table } from './catalog';
import { texts as en } from './i18n/console.en';
import { texts as es } from './i18n/console.es';
import { marks } from './marks.svelte';
import { huesOf } from './match/hues.svelte';

const all = table.shapes.flatMap((s) => table.colors.map((c) => `${s.name}-${c.name}`));

describe('a chosen avatar', () => {
  afterEach(() => marks.choose('ag_1', ''));

  it('is drawn in place of the generated one, and its color in matches', () => {
    const generated = avatarOf('ag_1');
    marks.choose('ag_1', 'star-teal');
    expect(avatarOf('ag_1')).toEqual(avatarOf('ag_2', 'star-teal'));
    expect(huesOf(['ag_1']).get('ag_1')).toBe(180);
    expect(avatarOf('ag_1', '')).toEqual(generated);
    marks.choose('ag_1', '');
    expect(avatarOf('ag_1')).toEqual(generated);
  });
  it('differs from all others', () => expect(new Set(all.map((m) => JSON.stringify(avatarOf('ag_1', m)))).size).toBe(144));
  it.each(['star', 'star-', '-teal', 'star-mud', 'mud-teal'])('is generated if its mark is %s', (mark) =>
    expect(avatarOf('ag_1', mark)).toEqual(avatarOf('ag_1', '')),
  );
  it('has a name in each language', () => {
    const keys = [...table.shapes.map((s) => `shape.${s.name}`), ...table.colors.map((c) => `color.${c.name}`)];
    for (const texts of [en, es]) expect(keys.filter((key) => !(`console.mark.${key}` in texts))).toEqual([]);
  });
});

// WCAG 1.4.11: what an avatar is drawn with stands out by 3 to 1.
describe('contrast', () => {
  const css = readFileSync('src/tokens.css', 'utf8');
  /** The two values of a token, light and dark. */
  const token = (name: string) => new RegExp(`--${name}: light-dark\\((.+), ([^,]+)\\);`).exec(css)!.slice(1) as [string, string];
  const surfaces = ['background', 'floor', 'stage', 'stage-lit', 'float'].map(token);
  const own = token('own');
  const figure = token('figure');

  const linear = (x: number) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
  const luminance = (rgb: readonly number[]) => 0.2126 * rgb[0]! + 0.7152 * rgb[1]! + 0.0722 * rgb[2]!;
  const ofHex = (hex: string) => luminance([1, 3, 5].map((i) => linear(parseInt(hex.slice(i, i + 2), 16) / 255)));
  /** CSS Color 4, section 9: of oklch(), cut to what a screen shows. */
  const ofHue = (color: string, hue: number) => {
    const [l, c] = /oklch\(([\d.]+) ([\d.]+) /.exec(color)!.slice(1).map(Number) as [number, number];
    const [a, b] = [c * Math.cos((hue * Math.PI) / 180), c * Math.sin((hue * Math.PI) / 180)];
    const [x, y, z] = [
      (l + 0.3963377774 * a + 0.2158037573 * b) ** 3,
      (l - 0.1055613458 * a - 0.0638541728 * b) ** 3,
      (l - 0.0894841775 * a - 1.291485548 * b) ** 3,
    ];
    return luminance(
      [
        4.0767416621 * x - 3.3077115913 * y + 0.2309699292 * z,
        -1.2684380046 * x + 2.6097574011 * y - 0.3413193965 * z,
        -0.0041960863 * x - 0.7034186147 * y + 1.707614701 * z,
      ].map((v) => Math.min(1, Math.max(0, v))),
    );
  };
  const ratio = (a: number, b: number) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);

  it.each([0, 1] as const)('is enough in each theme', (theme) => {
    for (const { name, hue, figure_hue } of table.colors) {
      const ground = ofHue(own[theme], hue);
      for (const s of surfaces) expect(ratio(ground, ofHex(s[theme])), `${name} on ${s[theme]}`).toBeGreaterThanOrEqual(3);
      expect(ratio(ground, ofHue(figure[theme], figure_hue)), `figure of ${name}`).toBeGreaterThanOrEqual(3);
    }
  });
});
