import type { Ballot } from '../api/contract';

// What judges that were asked made of two answers.

/** One judge's word on two answers. */
export interface Say {
  readonly judge: string;
  /** Agent id of the better one; "" for neither. */
  readonly choice: string;
  /** It preferred whichever stood first or second: that counts as neither. */
  readonly turned: boolean;
  readonly reasons: readonly string[];
  /** How many votes are behind it; 0 for a judge that is one. */
  readonly votes: number;
}

/** The judges in the order of their ballots. One that compared in one order only does not count, save the crowd. */
export function saysOf(ballots: readonly Ballot[], a: string, b: string): Say[] {
  const mine = ballots.filter((x) => (x.first === a && x.second === b) || (x.first === b && x.second === a));
  const says: Say[] = [];
  for (const judge of new Set(mine.map((x) => x.judge))) {
    const own = mine.filter((x) => x.judge === judge);
    const votes = own.reduce((n, x) => n + (x.votes ?? 0), 0);
    const orders = new Set(own.map((x) => x.first));
    if (votes === 0 && orders.size < 2) continue;
    const choices = new Set(own.map((x) => x.choice));
    const turned = choices.size > 1;
    says.push({
      judge,
      votes,
      turned,
      choice: turned ? '' : (own[0]?.choice ?? ''),
      reasons: [...new Set(own.map((x) => x.reason ?? '').filter(Boolean))],
    });
  }
  return says;
}

/** Who has more than half of the judges, with how many; undefined: nobody. */
export function majority(says: readonly Say[]): { readonly id: string; readonly n: number } | undefined {
  for (const id of new Set(says.map((s) => s.choice))) {
    const n = says.filter((s) => s.choice === id).length;
    if (id && 2 * n > says.length) return { id, n };
  }
  return undefined;
}
