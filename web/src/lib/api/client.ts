import { clock } from '../clock';
import { contact, isOutage } from '../contact';
import type { Problem } from './contract';
import { first } from './first';

/** What is wrong with one field of a request. */
export type FieldError = NonNullable<Problem['errors']>[number];

/** Why a request failed, in a form that the page can put into words. */
export class ApiError extends Error {
  /** HTTP status; 0 when there was no answer at all. */
  readonly status: number;
  /** The arena's stable code, or "network". */
  readonly code: string;
  readonly fields: readonly FieldError[];
  /** How long the arena asks to wait before another try, in milliseconds; 0 when it does not. */
  readonly waitMs: number;

  constructor(status: number, code: string, message: string, fields: readonly FieldError[] = [], waitMs = 0) {
    super(message);
    this.status = status;
    this.code = code;
    this.fields = fields;
    this.waitMs = waitMs;
  }
}

export type Query = Record<string, string | number | undefined>;

export function url(path: string, query: Query = {}): string {
  const params = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined) params.set(key, String(value));
  }
  const text = params.toString();
  return text ? `${path}?${text}` : path;
}

/** A read without an answer for this long has failed: the server is stopped, or the way to it is cut. */
const READ_MS = 20_000;

/** Reads one JSON document, the first time from the page if that brought it along. Throws ApiError; an abort passes through as it is. */
export const get = async <T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> => {
  const address = url(path, query);
  return (first.take(address) as T | undefined) ?? call<T>(address, {}, signal);
};

/** Sends one JSON document and reads the answer. Throws as get does. */
export const post = <T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> =>
  call<T>(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }, signal);

/** Sends a request. An answer without a body is undefined. Throws as get does. */
export const call = async <T>(path: string, init: RequestInit, signal?: AbortSignal): Promise<T> => {
  const reads = (init.method ?? 'GET') === 'GET';
  const limited = reads ? { ...init, signal: AbortSignal.any([AbortSignal.timeout(READ_MS), ...(signal ? [signal] : [])]) } : init;
  return parse<T>(await send(path, limited, signal), signal);
};

/** Sends a request whose answer is a file. Throws as get does. */
export async function file(path: string, init: RequestInit): Promise<Blob> {
  const res = await send(path, { ...init, headers: { accept: '*/*', ...init.headers } });
  if (!res.ok) return parse<Blob>(res);
  try {
    return await res.blob();
  } catch {
    throw new ApiError(0, 'network', 'cut off');
  }
}

async function send(path: string, init: RequestInit, signal?: AbortSignal): Promise<Response> {
  let res: Response;
  try {
    res = await fetch(path, { ...init, headers: { accept: 'application/json', ...init.headers }, signal: init.signal ?? signal ?? null });
  } catch (cause) {
    if (signal?.aborted) throw cause;
    contact.failed();
    throw new ApiError(0, 'network', 'no answer');
  }
  clock.sample(res.headers.get('date'));
  if (isOutage(res.status)) contact.failed();
  else contact.answered();
  return res;
}

async function parse<T>(res: Response, signal?: AbortSignal): Promise<T> {
  const type = res.headers.get('content-type') ?? '';
  if (res.status === 204 || (res.status === 202 && !type)) return undefined as T;
  const waitMs = (Number(res.headers.get('retry-after')) || 0) * 1000;
  if (!type.includes('json')) throw new ApiError(res.status, 'not_json', res.statusText, [], waitMs);
  const body: unknown = await res.json().catch((cause: unknown) => {
    if (signal?.aborted) throw cause;
    if (res.ok) throw new ApiError(0, 'network', 'the answer was cut off');
    return null;
  });
  if (!res.ok) {
    const problem = (body ?? {}) as Partial<Problem>;
    throw new ApiError(
      res.status,
      problem.code ?? 'unknown',
      problem.detail ?? problem.title ?? res.statusText,
      problem.errors ?? [],
      waitMs,
    );
  }
  return body as T;
}
