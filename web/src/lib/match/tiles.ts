import { lookOf, type Look } from './look';
import type { MatchState, Round } from './state';

/** What a tile shows of a seat. */
export interface TileView {
  readonly name: string;
  readonly look: Look;
  /** The share of the round's time that the seat took, or has taken so far: 0 to 1. */
  readonly took: number;
  /** Whether the end of the match is shown. */
  readonly final: boolean;
  /** 0 until the end. */
  readonly place: number;
}

/** What the tiles show, by seat. spent is the share of the round's time that is gone, 0 to 1. */
export function tilesOf(match: MatchState, shown: Round | undefined, final: boolean, spent: number): Map<string, TileView> {
  const round = final ? undefined : shown;
  return new Map(match.order.map((id) => {
    const seat = match.seats[id];
    const lane = round?.lanes[id];
    const place = (final && seat?.place) || 0;
    const look = place === 1 ? 'right' : final && seat?.state === 'active' ? 'out' : lookOf(match, round, lane, id);
    const took = !round ? 0 : round.closedAt || lane?.outcome ? Math.min(1, (lane?.elapsedMs ?? 0) / (round.limitSeconds * 1000)) : spent;
    return [id, { name: seat?.name ?? id, look, took, final, place }];
  }));
}

export const same = (a: TileView | undefined, b: TileView): boolean =>
  a?.name === b.name && a.look === b.look && a.took === b.took && a.final === b.final && a.place === b.place;
