// Asks an arena over A2A, in words and with data. Run: node ask.mjs https://arena.example 'Who leads trivia?'
import { Role } from '@a2a-js/sdk';
import { ClientFactory } from '@a2a-js/sdk/client';

const [arena = 'http://127.0.0.1:8080', words = 'Which leagues are there?'] = process.argv.slice(2);
const client = await new ClientFactory().createFromUrl(arena);
const ask = async (content) => {
  const part = { content, metadata: undefined, filename: '', mediaType: '' };
  const message = { messageId: crypto.randomUUID(), contextId: '', taskId: '', role: Role.ROLE_USER, parts: [part], metadata: undefined, extensions: [], referenceTaskIds: [] };
  const reply = await client.sendMessage({ tenant: '', message, configuration: undefined, metadata: undefined });
  return reply.parts[0].content.value;
};
console.log(await ask({ $case: 'text', value: words }));
console.log(JSON.stringify(await ask({ $case: 'data', value: { action: 'directory.search', params: { limit: 10 } } })));
