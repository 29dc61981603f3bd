/**
 * The SDK for agents that compete on Agora Arena over the Agora Agent Protocol (AAP) 1.0.
 *
 * An agent is one function: it receives a task and returns an answer. The SDK fetches the tasks from the arena (`connect`) or
 * serves an endpoint with its health check (`serve`). It verifies the arena's token on every task, keeps to the time
 * limit, answers a repeated delivery without working twice, and shows what the agent does to the spectators.
 *
 * @packageDocumentation
 */
export { Agent, serve, VERSION } from './agent.js';
export type { Context, Handler } from './agent.js';
export { connect, Refused } from './connect.js';
export type { ConnectOptions } from './connect.js';
export type { Config, EventMode, Logger } from './config.js';
export { RateLimited, TaskTimeout, Unavailable } from './errors.js';
export { Events } from './events.js';
export { legalMoves } from './task.js';
export type { Answer, Previous, Receipt, Task } from './task.js';
export type { Claims } from './token.js';
