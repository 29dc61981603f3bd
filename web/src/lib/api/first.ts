import { clock } from '../clock';

// The answers that a page brings along to what it reads first (../../../first.go).
// Each is used once, and none after the reader has moved on: it would be old.

interface First {
  readonly date?: string;
  readonly answers: Record<string, unknown>;
}

function brought(): First {
  try {
    return JSON.parse(document.getElementById('first')?.textContent ?? '') as First;
  } catch {
    return { answers: {} }; // it brought none, or was cut off
  }
}

const { date, answers } = brought();
clock.sample(date);

export const first = {
  /** Takes the answer to a read; undefined when the page brought none. */
  take(address: string): unknown {
    const answer = answers[address];
    delete answers[address];
    return answer;
  },
  /** Forgets what was not taken. */
  drop(): void {
    for (const address of Object.keys(answers)) delete answers[address];
  },
};
