// What the display tests of a file look at: recorded matches and seasons,
// served to this file alone, with a clock that only the tests move.
import { after } from 'node:test';
import { serve } from '../../../scripts/fixture-server.mjs';
import { matchOf, world } from '../../../scripts/fixture-world.mjs';
import { useSite } from './kit.mjs';

/** The moment of the recordings at which every test begins. */
export const NOW = Date.parse('2026-11-21T18:00:00Z');

async function start(changes) {
  let now = NOW;
  const w = { ...world(NOW), clock: () => now, ...changes };
  let server = await serve(0, w);
  const { port } = server.address();
  return {
    world: w,
    origin: `http://127.0.0.1:${port}`,
    stop: () => server.stop(),
    restart: async () => (server = await serve(port, w)),
    /** Leaves requests unanswered until what it returns is called. */
    freeze() {
      let thaw;
      w.frozen = new Promise((done) => (thaw = done));
      return () => thaw((w.frozen = undefined));
    },
    /** The match as it stands, as the API shows it. */
    match: (id) => matchOf(w.logs.get(id), now),
    now: () => now,
    /** Plays, or winds back, to the first event of a match that fits, or to its end; returns that event. */
    to(id, fits = () => false) {
      const log = w.logs.get(id);
      const event = log.find(fits) ?? log.at(-1);
      now = Date.parse(event.ts);
      return event;
    },
    /** Changes the events of a match before it is shown. */
    change: (id, event) => w.logs.set(id, w.logs.get(id).map(event)),
    /** Leaves these matches alone in the arena. */
    keep(...ids) {
      for (const id of w.logs.keys()) if (!ids.includes(id)) w.logs.delete(id);
    },
    /** Lets the clock of the arena run on. */
    pass: (ms) => (now += ms),
  };
}

/** The recording that the tests of a file share; its clock is held. */
export const shared = await start();
after(() => shared.stop());
useSite({ origin: shared.origin });

/** A recording of a test's own, which it may change and play. */
export async function recording(t, changes) {
  const own = await start(changes);
  t.after(() => own.stop());
  return own;
}
