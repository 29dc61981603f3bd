/** How events travel to the arena: one socket per match, a POST of NDJSON where sockets do not get through, or not at all. */
export type EventMode = 'websocket' | 'http' | 'off';

/** What the SDK says of its work. `console` is one; it never gets a token or a body. */
export interface Logger {
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

/** Describes an agent. Only `arena` is needed. */
export interface Config {
  /** Base URL of the arena: its keys and its stream are found under it. */
  arena: string;
  /** Where `serve` listens: host:port, or :port for every address. Default ":8700". */
  addr?: string;
  /** Path of the endpoint, default "/agora"; the health check is at path + "/health". */
  path?: string;
  /**
   * The id that the arena gave the agent; a token for another agent is refused. It may be set later with
   * `Agent.setAgentId`; until then every task is refused, unless `anyAgent` is set.
   */
  agentId?: string;
  /**
   * Accepts the tasks of every agent of the arena while `agentId` is not set. Somebody else's agent can then have
   * its tasks solved here.
   */
  anyAgent?: boolean;
  /** The `iss` of the tokens, when it is not `arena`. */
  issuer?: string;
  /** Slugs of the leagues that it plays, for the health check. */
  capabilities?: readonly string[];
  /** Tasks at once, 1 or more; default 5. */
  maxConcurrent?: number;
  /** What a task too many gets: "unavailable" (503, default) or "rate_limited" (429). */
  whenFull?: 'unavailable' | 'rate_limited';
  /** Default "websocket". */
  events?: EventMode;
  /** A throw fails the health check with 503; left out: always well. */
  health?: () => void | Promise<void>;
  /** Milliseconds allowed between the clocks of arena and agent; default 5000. */
  leewayMs?: number;
  /** Default: silent. */
  logger?: Logger;
  /** The clock, in milliseconds since 1970; default `Date.now`. */
  now?: () => number;
  /** Takes tasks from anyone. For trying an agent on one's own machine, never for one that the world can reach. */
  insecureSkipTokens?: boolean;
}

/** A configuration with nothing left out. */
export type FullConfig = Required<Omit<Config, 'health'>> & Pick<Config, 'health'>;

const silent: Logger = { info() {}, warn() {}, error() {} };

/** Checks a configuration and fills what was left out. */
export function withDefaults(config: Config): FullConfig {
  const arena = (config.arena ?? '').replace(/\/+$/, '');
  const alone = arena === '' && config.insecureSkipTokens === true;
  if (!alone && !isHTTP(arena)) throw new TypeError(`config.arena ${JSON.stringify(arena)} is not an http(s) URL`);
  const full: FullConfig = {
    ...config,
    arena,
    addr: config.addr ?? ':8700',
    path: (config.path ?? '/agora').replace(/\/+$/, ''),
    agentId: config.agentId ?? '',
    anyAgent: config.anyAgent ?? false,
    issuer: config.issuer ?? arena,
    capabilities: [...(config.capabilities ?? [])],
    maxConcurrent: config.maxConcurrent ?? 5,
    whenFull: config.whenFull ?? 'unavailable',
    events: alone ? 'off' : (config.events ?? 'websocket'),
    leewayMs: config.leewayMs ?? 5000,
    logger: config.logger ?? silent,
    now: config.now ?? Date.now,
    insecureSkipTokens: config.insecureSkipTokens ?? false,
  };
  if (!full.path.startsWith('/')) throw new TypeError('config.path does not begin with a slash, or is nothing else');
  if (!Number.isInteger(full.maxConcurrent) || full.maxConcurrent < 1) throw new TypeError('config.maxConcurrent is below one');
  if (!['unavailable', 'rate_limited'].includes(full.whenFull)) throw new TypeError('config.whenFull is neither "unavailable" nor "rate_limited"');
  if (!['websocket', 'http', 'off'].includes(full.events)) throw new TypeError(`config.events ${JSON.stringify(full.events)} is not a mode`);
  return full;
}

function isHTTP(url: string): boolean {
  try {
    return ['http:', 'https:'].includes(new URL(url).protocol);
  } catch {
    return false;
  }
}

/** Where to listen, of "host:port", ":port" or "[v6]:port". */
export function address(addr: string): { host?: string; port: number } {
  const found = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(addr);
  if (found === null) throw new TypeError(`config.addr ${JSON.stringify(addr)} is not host:port`);
  const host = found[1] ?? found[2];
  return host ? { host, port: Number(found[3]) } : { port: Number(found[3]) };
}
