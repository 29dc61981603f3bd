// A page that was open while the arena was renewed asks for parts that are
// gone. Loading it anew gets the parts of today; once, since a part that is
// missing then stays missing.

const KEY = 'arena.renewed';
const AGAIN_MS = 60_000;

export function renewWhenStale(): void {
  addEventListener('vite:preloadError', (e) => {
    try {
      if (Date.now() - Number(sessionStorage.getItem(KEY)) < AGAIN_MS) return;
      sessionStorage.setItem(KEY, String(Date.now()));
    } catch {
      return; // without a memory it could go round and round
    }
    e.preventDefault();
    location.reload();
  });
}
