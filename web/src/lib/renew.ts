import { contact } from './contact';

// A page that was open while the arena was renewed asks for parts that are
// gone. Loading it anew gets the parts of today; once, since a part that is
// missing then stays missing. While the arena does not answer, a part is only
// late: the page stays and waits.

const KEY = 'arena.renewed';
const AGAIN_MS = 60_000;

/** Loads a module. It waits for an outage to end, and fails when the module is really gone. */
export async function loaded<T>(load: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await load();
    } catch (cause) {
      if (await contact.check()) {
        if (!renew()) throw cause;
        return new Promise<T>(() => {}); // the page is being loaded anew
      }
      await returned();
    }
  }
}

const returned = () =>
  new Promise<void>((done) => {
    const stop = contact.onReturn(() => {
      stop();
      done();
    });
  });

/** Loads the page anew, unless that was done just now. */
function renew(): boolean {
  try {
    if (Date.now() - Number(sessionStorage.getItem(KEY)) < AGAIN_MS) return false;
    sessionStorage.setItem(KEY, String(Date.now()));
  } catch {
    return false; // without a memory it could go round and round
  }
  location.reload();
  return true;
}
