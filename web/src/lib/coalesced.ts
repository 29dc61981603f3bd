/**
 * Returns ask, which runs at once, and then at most every so many milliseconds
 * and not before the last run is over: what is asked meanwhile is one more run
 * at the end. Nothing runs any more after stop.
 */
export function coalesced(run: () => Promise<unknown>, everyMs: number): { ask: () => void; stop: () => void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let waits = false;
  let asked = false;
  const ask = (): void => {
    asked = waits;
    if (waits) return;
    waits = true;
    const pause = new Promise<void>((done) => (timer = setTimeout(done, everyMs)));
    void Promise.allSettled([run(), pause]).then(() => {
      waits = false;
      if (asked) ask();
    });
  };
  return { ask, stop: () => clearTimeout(timer) };
}
