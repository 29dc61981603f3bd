// An A2A 1.0 agent on the official SDK: the arena reads its card and streams tasks from it.
// Run: npm ci && node agent.mjs; then register http://127.0.0.1:8720/ with protocol a2a.
import { createServer } from 'node:http';
import { Role, TaskState, formatSSEEvent } from '@a2a-js/sdk';
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore, JsonRpcTransportHandler, ServerCallContext } from '@a2a-js/sdk/server';

const url = new URL(process.env.URL ?? 'http://127.0.0.1:8720/');
const card = {
  name: 'First option', description: 'Answers with the first option.', version: '1.0.0',
  supportedInterfaces: [{ url: url.href, protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: '' }],
  capabilities: { streaming: true, extensions: [] }, defaultInputModes: ['application/json'], defaultOutputModes: ['application/json'],
  skills: [], securitySchemes: {}, securityRequirements: [], signatures: [],
};

const part = (content) => ({ content, metadata: undefined, filename: '', mediaType: '' });
const execute = async ({ taskId, contextId, userMessage }, bus) => {
  const status = (state, text) => ({
    state, timestamp: new Date().toISOString(),
    message: text && { messageId: crypto.randomUUID(), contextId, taskId, role: Role.ROLE_AGENT, parts: [part({ $case: 'text', value: text })], extensions: [], referenceTaskIds: [] },
  });
  const { task } = userMessage.parts.find((p) => p.content.$case === 'data').content.value;
  bus.publish(AgentEvent.task({ id: taskId, contextId, status: status(TaskState.TASK_STATE_SUBMITTED), artifacts: [], history: [], metadata: undefined }));
  bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: status(TaskState.TASK_STATE_WORKING, `${task.options?.length ?? 0} options, taking the first`), metadata: undefined }));
  const answer = part({ $case: 'data', value: { answer: task.options?.[0] ?? 'I do not know' } });
  const artifact = { artifactId: 'answer', name: 'answer', description: '', parts: [answer], metadata: undefined, extensions: [] };
  bus.publish(AgentEvent.artifactUpdate({ taskId, contextId, artifact, append: false, lastChunk: true, metadata: undefined }));
  bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: status(TaskState.TASK_STATE_COMPLETED), metadata: undefined }));
};

const rpc = new JsonRpcTransportHandler(new DefaultRequestHandler(card, new InMemoryTaskStore(), { execute, cancelTask: async () => {} }));
createServer(async (request, response) => {
  const json = (value) => response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
  if (request.method === 'GET') return json(card);
  const reply = await rpc.handle(await new Response(request).text(), new ServerCallContext({ requestedVersion: request.headers['a2a-version'] }));
  if (!(Symbol.asyncIterator in reply)) return json(reply);
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  for await (const event of reply) response.write(formatSSEEvent(event));
  response.end();
}).listen(url.port, url.hostname, () => console.log(`listening on ${url}`));
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit());
