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

/** Serves the page of frames at its addresses, as the arena does. */
function frames(): Plugin {
  return {
    name: 'arena-frames',
    configureServer(server) {
      server.middlewares.use((req, _res, next) => {
        if (req.url?.startsWith('/embed/')) req.url = '/embed.html';
        next();
      });
    },
  };
}

const arena = process.env.ARENA_URL ?? 'http://127.0.0.1:8080';

export default defineConfig(({ mode }) => ({
  plugins: [svelte(), frames(), ...(mode === 'fixture' ? [fixtures()] : [])],
  resolve: { alias: { $lib: fileURLToPath(new URL('./src/lib', import.meta.url)) } },
  build: {
    manifest: true, // the server names the chunks of a page in its Link header
    target: ['chrome123', 'firefox121', 'safari17.5'],
    assetsInlineLimit: 0, // the page's policy allows no data: but pictures
    modulePreload: { polyfill: false },
    reportCompressedSize: false, // scripts/compress.mjs reports what goes over the wire
    rolldownOptions: {
      input: ['index.html', 'embed.html'],
      output: {
        chunkFileNames: ({ name }) => `assets/${name.split('~')[0]}-[hash].js`, // a shared part is named after all its pages
        // A request costs a reader more than a few bytes that a page does not use.
        codeSplitting: {
          groups: [
            { name: 'stage', test: /src[\\/](?:Embed\.svelte|lib[\\/]renew|tokens\.css|base\.css)/, priority: 3 },
            { name: 'first', tags: ['$initial'], test: /^(?!.*(?:\.html|src[\\/](?:main\.ts|embed\.ts|font.*\.css)))/, priority: 2 },
            { name: 'desk', minShareCount: 2, test: /[\\/](?:console|admin)(?:[\\/]|\.en)/, priority: 1 },
            { name: 'commentary', test: /src[\\/]lib[\\/](?:commentary|game[\\/](?:forms|moves)|i18n[\\/]commentary\.en)/, priority: 2 }, // both read positions
            {
              name: 'game',
              minShareCount: 2,
              test: /src[\\/](?:components[\\/]game|lib[\\/]game[\\/]notes|lib[\\/]i18n[\\/]game\.en)/,
              priority: 1,
            }, // only where a game is shown
            { name: 'shared', minShareCount: 2, priority: 0 },
          ],
        },
      },
    },
  },
  server: mode === 'fixture' ? {} : { proxy: { '/v1': { target: arena, ws: true, changeOrigin: false } } },
}));
