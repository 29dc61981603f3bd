import { shownName, shownText } from '../notices';
import { viewStateOf, type ViewState } from './view-state';
import { playersOf, type Lane, type MatchState, type Round } from './state';

/** What a tile shows of a seat. */
export interface TileView {
  readonly name: string;
  readonly viewState: ViewState;
  /** The share of the round's time that the seat took, or has taken so far: 0 to 1. */
  readonly took: number;
  /** What it answered in the round, once that may be seen. */
  readonly said: string;
  /** Whether the end of the match is shown. */
  readonly final: boolean;
  /** 0 until the end. */
  readonly place: number;
}

/** What the tiles show, by seat. spent is the share of the round's time that is gone, 0 to 1. */
export function tilesOf(match: MatchState, shown: Round | undefined, final: boolean, spent: number): Map<string, TileView> {
  const round = final ? undefined : shown;
  return new Map(
    match.order.map((id) => {
      const seat = match.seats[id];
      const lane = round?.lanes[id];
      const place = (final && seat?.place) || 0;
      const viewState = place === 1 ? 'right' : final && seat?.state === 'active' ? 'out' : viewStateOf(match, round, lane, id);
      const took = !round ? 0 : round.closedAt || lane?.outcome ? Math.min(1, (lane?.elapsedMs ?? 0) / (round.limitSeconds * 1000)) : spent;
      return [id, { name: shownName(seat?.name ?? id), viewState, took, said: saidIn(lane), final, place }];
    }),
  );
}

const saidIn = (lane: Lane | undefined): string =>
  lane?.outcome === 'answered' && lane.answer?.answer !== undefined ? shownText(lane.answer.answer) : '';

export const same = (a: TileView | undefined, b: TileView): boolean =>
  a?.name === b.name && a.viewState === b.viewState && a.took === b.took && a.said === b.said && a.final === b.final && a.place === b.place;

/** The seats that are out before a round, the last ones to go first. */
export const fallenBefore = (match: MatchState, round: Round | undefined): string[] => {
  const playing = new Set(playersOf(match, round));
  const gone = (id: string) => match.seats[id]?.outRound ?? 0;
  return match.order.filter((id) => !playing.has(id)).sort((a, b) => gone(b) - gone(a));
};

/** wide: the avatar over the name. chip: avatar, name and state on one line. */
export type TileSize = 'wide' | 'chip';

export interface Grid {
  readonly columns: number;
  readonly rows: number;
  readonly size: TileSize;
  /** Letters of a name that fit on a chip. */
  readonly letters: number;
}

/** The least space, in CSS pixels, in which a name of a dozen letters can be read. */
const WIDE = { width: 84, height: 72 } as const;
const CHIP_WIDTH = 96;
/** What a chip holds besides the name, and the width of a letter of its type. */
const CHIP_REST = 46;
const LETTER = 6.1;
/** Narrower areas are those of phones: they scroll, and their height is not known. */
const NARROW = 480;
const NARROW_COLUMNS = 3;
/** As many tiles on a phone are wide. */
const NARROW_WIDE = 12;

/** The grid for n tiles in an area: nearly square tiles where names fit under the avatars, else lines of equal width. */
export function gridOf(n: number, width: number, height: number): Grid {
  const of = (columns: number, size: TileSize): Grid => ({
    columns,
    rows: Math.max(1, Math.ceil(n / columns)),
    size,
    letters: Math.max(6, Math.floor((width / columns - CHIP_REST) / LETTER)),
  });
  if (width > 0 && width < NARROW)
    return of(
      Math.max(1, Math.min(n, n <= NARROW_WIDE ? Math.floor(width / WIDE.width) : NARROW_COLUMNS)),
      n <= NARROW_WIDE ? 'wide' : 'chip',
    );
  const square = of(Math.max(1, Math.min(n, Math.ceil(Math.sqrt((n * (width || 16)) / (height || 9) / 1.15)))), 'wide');
  if (!width || (width / square.columns >= WIDE.width && height / square.rows >= WIDE.height)) return square;
  return of(Math.max(1, Math.min(n, Math.floor(width / CHIP_WIDTH))), 'chip');
}

/** A name in about as many letters: both ends, because names of one owner often differ in the last ones. */
export function shortName(name: string, letters: number): string {
  const all = [...name];
  if (all.length <= letters) return name;
  const tail = Math.floor((letters - 1) / 3);
  return `${all
    .slice(0, letters - 1 - tail)
    .join('')
    .trimEnd()}…${all.slice(-tail).join('').trimStart()}`;
}
