import { get } from './api/client';
import { first } from './api/first';
import { store, stored } from './storage';

// The marks that owners have chosen for their agents. Few agents have one, so a page reads
// all of them once, whatever it shows. Avatars are first drawn with those that the page
// brought along, else with those of the last visit.

type Marks = Readonly<Record<string, string>>;

const ADDRESS = '/v1/marks';
const KEY = 'arena.marks';

class ChosenMarks {
  #all = $state.raw<Marks>({});

  /** Takes the marks that are known, and reads the others. */
  begin(): void {
    const brought = first.take(ADDRESS) as { marks: Marks } | undefined;
    if (brought) return this.#keep(brought.marks);
    try {
      this.#all = JSON.parse(stored(KEY) ?? '{}') as Marks;
    } catch {
      // Not ours.
    }
    get<{ marks: Marks }>(ADDRESS).then(
      ({ marks }) => this.#keep(marks),
      () => undefined, // as they are known
    );
  }

  /** The mark of an agent; empty: none is chosen. */
  of(agentId: string): string {
    return this.#all[agentId] ?? '';
  }

  /** Draws an agent as its owner has just chosen. */
  choose(agentId: string, mark: string): void {
    this.#keep({ ...this.#all, [agentId]: mark });
  }

  #keep(all: Marks): void {
    this.#all = all;
    store(KEY, JSON.stringify(all));
  }
}

export const marks = new ChosenMarks();
