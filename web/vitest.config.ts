import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

// The unit tests cover what has no markup: reducer, stream, words. They need
// neither the Svelte compiler nor a document. A busy machine decides no test: the
// limit only ends one that hangs.
export default defineConfig({
  resolve: { alias: { $lib: fileURLToPath(new URL('./src/lib', import.meta.url)) } },
  test: { include: ['src/**/*.test.ts'], environment: 'node', setupFiles: 'vitest.setup.ts', testTimeout: 120_000 },
});
