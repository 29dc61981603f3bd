// Prints what the first view weighs: everything that index.html asks for
// before it can draw the lobby or a match. Fails above first_view_gzip of
// budgets.json.
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

const { first_view_gzip: BUDGET } = JSON.parse(readFileSync(new URL('../budgets.json', import.meta.url), 'utf8'));
const dist = new URL('../dist/', import.meta.url);
const html = readFileSync(new URL('index.html', dist), 'utf8');
const files = [...new Set([...html.matchAll(/(?:src|href)="\/([^"]+\.(?:js|css))"/g)].map((m) => m[1]))];
let total = 0;
for (const file of files) {
  const size = gzipSync(readFileSync(new URL(file, dist)), { level: 9 }).length;
  total += size;
  console.log(`${(size / 1024).toFixed(1).padStart(7)} KB gzip  ${file}`);
}
console.log(`${(total / 1024).toFixed(1).padStart(7)} KB gzip  first view, script and style (budget ${BUDGET / 1024} KB)`);
if (!files.length || total > BUDGET) process.exit(1);
