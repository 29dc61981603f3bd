import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

// The unit tests cover what has no markup: reducer, stream, words. They need
// neither the Svelte compiler nor a document.
export default defineConfig({
  resolve: { alias: { $lib: fileURLToPath(new URL('./src/lib', import.meta.url)) } },
  test: { include: ['src/**/*.test.ts'], environment: 'node' },
});
