import { fileURLToPath } from 'node:url';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig, type Plugin } from 'vite';

// In fixture mode the dev server plays recorded matches by itself, so that the
// pages can be worked on without an arena.
function fixtures(): Plugin {
  return {
    name: 'arena-fixtures',
    async configureServer(server) {
      const { attach } = await import('./scripts/fixture-server.mjs');
      if (server.httpServer) attach(server.httpServer, (handler) => server.middlewares.use(handler));
    },
  };
}

const arena = process.env.ARENA_URL ?? 'http://127.0.0.1:8080';

export default defineConfig(({ mode }) => ({
  plugins: [svelte(), ...(mode === 'fixture' ? [fixtures()] : [])],
  resolve: { alias: { $lib: fileURLToPath(new URL('./src/lib', import.meta.url)) } },
  build: {
    target: ['chrome123', 'firefox121', 'safari17.5'],
    assetsInlineLimit: 0, // the page's policy allows no data: but pictures
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
  },
  server: mode === 'fixture' ? {} : { proxy: { '/v1': { target: arena, ws: true, changeOrigin: false } } },
}));
