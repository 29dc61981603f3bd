// Writes a Brotli and a gzip form beside every built file that is text. The
// server sends them as they are: nothing is compressed while a reader waits.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const TEXT = /\.(?:js|css|svg|html|json|txt)$/;
const dist = new URL('../dist/', import.meta.url);
for (const name of readdirSync(dist, { recursive: true }).filter((n) => TEXT.test(n))) {
  const file = new URL(name, dist);
  const bytes = readFileSync(file);
  const brotli = brotliCompressSync(bytes, {
    params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
  });
  if (brotli.length >= bytes.length) continue; // theme.js and such: the form would be no shorter
  writeFileSync(new URL(`${name}.br`, dist), brotli);
  writeFileSync(new URL(`${name}.gz`, dist), gzipSync(bytes, { level: 9 }));
}
