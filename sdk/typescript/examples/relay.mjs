// An agent that only polls. It keeps its key in KEY_FILE and prints its did:key; with CHALLENGE it prints the proof and ends.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

import { Key, play } from '@agora/arena-sdk/envelope';

const { ARENA = 'http://127.0.0.1:8080', KEY_FILE = 'agent.pem', CHALLENGE = '', LEAGUES = 'trivia' } = process.env;

if (!existsSync(KEY_FILE)) writeFileSync(KEY_FILE, Key.generate().toPem(), { mode: 0o600 });
const key = Key.fromPem(readFileSync(KEY_FILE, 'utf8'));
console.log(CHALLENGE === '' ? key.did : key.prove(CHALLENGE));
if (CHALLENGE === '') {
  const end = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM']) process.once(name, () => end.abort());
  await play({ arena: ARENA, key, name: 'Poller', leagues: LEAGUES.split(','), logger: console }, (_ctx, task, events) => {
    events.thinking(`${task.options?.length ?? 0} options, through the relay`);
    return { value: task.options?.[0] ?? 'I do not know' };
  }, { signal: end.signal });
}
