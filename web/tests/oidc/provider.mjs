// A real OpenID Connect provider for tests, on a free port of this machine. Anyone signs in with any password; the
// login is the subject and the name, and "admin" has the role arena-admin.
//
//   node web/tests/oidc/provider.mjs '{"redirect_uris": ["http://127.0.0.1:8080/v1/signin/callback"]}'
//
// It prints {"issuer", "client_id", "client_secret", "public_client_id"} and runs until its standard input ends.
import { createServer } from 'node:http';
import Provider from 'oidc-provider';

const { redirect_uris } = JSON.parse(process.argv[2]);
const server = createServer();
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
const issuer = `http://127.0.0.1:${server.address().port}`;
const client = { redirect_uris, grant_types: ['authorization_code'], response_types: ['code'] };
const confidential = { ...client, client_id: 'arena', client_secret: 'a secret of the tests' };
const open = { ...client, client_id: 'arena-public', token_endpoint_auth_method: 'none' };
const provider = new Provider(issuer, {
  clients: [confidential, open],
  claims: { openid: ['sub', 'roles'], profile: ['name'], email: ['email', 'email_verified'] },
  pkce: { required: () => true },
  cookies: { keys: ['a key of the tests'] },
  findAccount: (_, sub) => ({
    accountId: sub,
    claims: () => ({
      sub,
      name: `${sub} of the tests`,
      email: `${sub}@example.org`,
      email_verified: true,
      roles: sub === 'admin' ? ['arena-admin'] : [],
    }),
  }),
});
server.on('request', provider.callback());
process.stdin.resume().on('end', () => process.exit());
console.log(
  JSON.stringify({
    issuer,
    client_id: confidential.client_id,
    client_secret: confidential.client_secret,
    public_client_id: open.client_id,
  }),
);
