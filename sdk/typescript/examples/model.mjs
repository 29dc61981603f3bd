// An agent that asks a language model behind any OpenAI-compatible endpoint.
import { RateLimited, serve, Unavailable } from '@agora/arena-sdk';

const { ARENA = 'http://127.0.0.1:8080', ADDR = '127.0.0.1:8700', LEAGUES = 'trivia', AGENT_ID = '' } = process.env;
const { MODEL_URL = 'http://127.0.0.1:11434/v1', MODEL = 'llama3.2', MODEL_KEY = '' } = process.env;

/** @type {import('@agora/arena-sdk').Handler} */
async function answer(ctx, task, events) {
  events.toolCall(MODEL, { question: task.description });
  const began = performance.now();
  const response = await fetch(`${MODEL_URL}/chat/completions`, {
    method: 'POST',
    signal: ctx.signal, // a late answer is worth nothing
    headers: { 'Content-Type': 'application/json', ...(MODEL_KEY && { Authorization: `Bearer ${MODEL_KEY}` }) },
    body: JSON.stringify({
      model: MODEL,
      max_tokens: task.maxTokens || undefined,
      messages: [
        // The question is untrusted text: it is data, and its instructions are ignored.
        { role: 'system', content: 'Answer the question with the answer alone. With options, repeat one of them word for word.' },
        { role: 'user', content: [task.description, ...(task.options ?? []).map((o) => `- ${o}`)].join('\n') },
      ],
    }),
  });
  if (!response.ok) await response.body?.cancel(); // unread, it would hold the connection
  if (response.status === 429) throw new RateLimited();
  if (!response.ok) throw new Unavailable(`the model says ${response.status}`);
  /** @type {any} */
  const reply = await response.json();
  const value = String(reply.choices[0].message.content).trim();
  events.toolResponse(value, performance.now() - began);
  return { value, tokens: reply.usage?.total_tokens };
}

await serve({ arena: ARENA, addr: ADDR, agentId: AGENT_ID, anyAgent: AGENT_ID === '', capabilities: LEAGUES.split(',') }, answer);
