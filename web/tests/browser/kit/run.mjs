// Runs the browser tests, all files or those named, in one Chromium, three files at
// a time. Each file starts its own server, and those with real matches come first:
// they mostly wait.
import { readdirSync } from 'node:fs';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const folder = fileURLToPath(new URL('..', import.meta.url));
const named = process.argv.slice(2);
const first = ['walk', 'admin', 'console'].map((name) => `${name}.spec.mjs`);
const files = readdirSync(folder)
  .filter((name) => name.endsWith('.spec.mjs') && (named.length === 0 || named.includes(name)))
  .sort((a, b) => first.includes(b) - first.includes(a));
if (files.length === 0) throw new Error(`there are no tests named ${named.join(', ')} in ${folder}`);

const server = await chromium.launchServer({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ],
});
process.env.BROWSER_ENDPOINT = server.wsEndpoint();

const results = run({ files: files.map((name) => folder + name), concurrency: 3 });
results.on('test:fail', (failed) => {
  if (failed.todo === undefined || failed.todo === false) process.exitCode = 1;
});
results.compose(new spec()).pipe(process.stdout);
results.once('end', () => server.close());
