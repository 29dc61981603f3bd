import { store, stored } from '../storage';
import { isOver, lastRound, type MatchState } from './state';

// A few soft notes when a round opens or closes and when a match ends: off until
// somebody wants them.

export type Cue = 'opened' | 'closed' | 'over';

/** What was heard last when a match is in this state, and of which round. */
export function cueOf(match: MatchState): { cue: Cue; round: number } | undefined {
  const round = lastRound(match);
  if (!round) return undefined;
  return { cue: isOver(match) ? 'over' : round.closedAt ? 'closed' : 'opened', round: round.no };
}

/** In Hz, one after the other. */
const NOTES: Record<Cue, readonly number[]> = { opened: [523], closed: [392, 587], over: [523, 659, 784] };
const NOTE_S = 0.3;
const STEP_S = 0.12;
const LOUDNESS = 0.08;

const KEY = 'arena.sound';

/** Whether matches are heard: a choice that the browser keeps. */
export class Sound {
  on = $state(stored(KEY) === 'on');
  #context: AudioContext | undefined;

  toggle(): void {
    this.on = !this.on;
    store(KEY, this.on ? 'on' : 'off');
    this.play('opened');
  }

  play(cue: Cue): void {
    if (!this.on) return;
    const context = (this.#context ??= new AudioContext());
    // A browser keeps it silent until the reader has pressed something; what was missed is not made up for.
    if (context.state !== 'running') void context.resume();
    NOTES[cue].forEach((frequency, i) => {
      const at = context.currentTime + i * STEP_S;
      const note = new OscillatorNode(context, { frequency });
      const volume = new GainNode(context, { gain: LOUDNESS });
      volume.gain.setValueAtTime(LOUDNESS, at);
      volume.gain.exponentialRampToValueAtTime(0.001, at + NOTE_S);
      note.connect(volume).connect(context.destination);
      note.start(at);
      note.stop(at + NOTE_S);
    });
  }
}

export const sound = new Sound();
