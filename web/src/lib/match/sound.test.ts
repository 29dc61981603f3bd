import { readFileSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import type { ArenaEvent } from '../api/contract';
import { applyEvent } from './apply';
import { cueOf, Sound } from './sound.svelte';
import { emptyMatch, lastRound, type MatchState } from './state';

const events = readFileSync('src/lib/fixtures/duel.jsonl', 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as ArenaEvent);

describe('what is heard of a match', () => {
  it('is each round as it opens and closes, and the end', () => {
    const heard: string[] = [];
    let m: MatchState = emptyMatch('m');
    for (const e of events) {
      m = applyEvent(m, e);
      const now = cueOf(m);
      const text = now ? `${now.cue} ${now.round}` : '';
      if (text && text !== heard.at(-1)) heard.push(text);
    }
    const rounds = Array.from({ length: lastRound(m)!.no }, (_, i) => [`opened ${i + 1}`, `closed ${i + 1}`]).flat();
    expect(heard).toEqual([...rounds, `over ${lastRound(m)!.no}`]);
  });

  it('is nothing until somebody turns it on', () => {
    const started = vi.fn();
    class Node {
      gain = { setValueAtTime: vi.fn(), exponentialRampToValueAtTime: vi.fn() };
      connect = (next: unknown) => next;
      start = started;
      stop = vi.fn();
    }
    vi.stubGlobal(
      'AudioContext',
      class {
        state = 'running';
        currentTime = 0;
        destination = {};
      },
    );
    vi.stubGlobal('OscillatorNode', Node);
    vi.stubGlobal('GainNode', Node);
    const sound = new Sound();
    sound.play('over');
    expect(started).not.toHaveBeenCalled();
    sound.toggle();
    sound.play('over');
    expect(started).toHaveBeenCalledTimes(1 + 3);
    sound.toggle();
    sound.play('over');
    expect(started).toHaveBeenCalledTimes(1 + 3);
    vi.unstubAllGlobals();
  });
});
