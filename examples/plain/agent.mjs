import { createHash, createPublicKey, verify } from 'node:crypto';
import { createServer } from 'node:http';

const { ARENA = 'http://127.0.0.1:8080', PORT = '8700', AGENT_ID = '' } = process.env;
const health = { status: 'ok', version: '1.0', capabilities: ['trivia'], avg_latency_ms: 5, max_concurrent: 5 };
const decode = (part) => JSON.parse(Buffer.from(part, 'base64url'));

let keys, until = 0;
function keySet() {
  if (Date.now() < until) return keys;
  until = Date.now() + 5000;
  return keys = fetch(`${ARENA}/.well-known/jwks.json`).then((response) => response.json());
}

async function allowed(token, body) {
  const [head, payload, signature = ''] = token.split('.');
  const jwk = (await keySet()).keys.find((k) => k.kid === decode(head).kid && k.alg === 'ES256');
  const key = createPublicKey({ key: jwk, format: 'jwk' });
  const claims = decode(payload);
  return verify('sha256', `${head}.${payload}`, { key, dsaEncoding: 'ieee-p1363' }, Buffer.from(signature, 'base64url'))
    && claims.iss === ARENA && claims.exp > Date.now() / 1000 && (!AGENT_ID || [claims.aud].flat().includes(AGENT_ID))
    && claims.match_id === JSON.parse(body).match_id
    && (!('bh' in claims || 'round' in claims) || claims.bh === createHash('sha256').update(body).digest('base64url'));
}

createServer(async (req, res) => {
  const reply = (status, body = {}) => res.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
  if (req.method === 'GET' && req.url === '/agora/health') return reply(200, health);
  if (req.method !== 'POST' || req.url !== '/agora') return reply(405);
  try {
    let body = Buffer.alloc(0);
    for await (const part of req) if ((body = Buffer.concat([body, part])).length > 100_000) return reply(413);
    if (!await allowed(req.headers.authorization?.replace('Bearer ', '') ?? '', body).catch(() => false)) return reply(401);
    const { task } = JSON.parse(body);
    reply(200, { answer: task.options?.[0] ?? 'I do not know' });
  } catch {
    reply(400);
  }
}).listen(Number(PORT), '127.0.0.1');
