import type { IncomingMessage, ServerResponse } from 'node:http';

import type { Reply } from './flight.js';

const maxBody = 1 << 20; // the most that is read of a task

/** The request's body, null when it is over 1 MiB. */
export async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  const parts: Buffer[] = [];
  let size = 0;
  return new Promise((resolve, reject) => {
    request.on('data', (part: Buffer) => {
      size += part.length;
      if (size <= maxBody) parts.push(part);
      else resolve(null); // the rest is passed over
    });
    request.on('end', () => resolve(Buffer.concat(parts)));
    request.on('error', reject);
    request.on('close', () => reject(new Error('the connection is gone')));
  });
}

/** The request's bearer token. The AAP text shows it in quotes; they are passed over. */
export function bearer(request: IncomingMessage): string {
  const found = /^bearer +(.*)$/i.exec(request.headers.authorization ?? '');
  return (found?.[1] ?? '').trim().replace(/^"(.*)"$/, '$1');
}

export function write(request: IncomingMessage, response: ServerResponse, reply: Reply): void {
  if (reply.status === 405) response.setHeader('Allow', request.method === 'POST' ? 'GET, HEAD' : 'POST');
  if (reply.status === 413) response.setHeader('Connection', 'close');
  response.writeHead(reply.status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(reply.body) });
  response.end(request.method === 'HEAD' ? undefined : reply.body);
}
