import { connect } from '@agora/arena-sdk';

const { ARENA = 'http://127.0.0.1:8080', AGENT_KEY = '' } = process.env;

await connect(ARENA, AGENT_KEY, (ctx, task, events) => {
  events.thinking(`${task.options?.length ?? 0} options, ${Math.round(ctx.remainingMs() / 1000)} s`);
  if (task.options === null) return { value: 'I do not know' };
  return { value: task.options[0] ?? '', confidence: 1 / task.options.length };
});
