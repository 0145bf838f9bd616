import { defineConfig } from 'vitest/config';

// `npm run dev` shows the UI with quick reload. DWELL_URL is the address that `dwell view` printed, without the token. The
// browser needs the session cookie: open the printed address once, on the same host.
const server = process.env.DWELL_URL ?? 'http://127.0.0.1:8123';

export default defineConfig({
  esbuild: { jsx: 'automatic' },
  build: { target: 'es2022', assetsInlineLimit: 0, modulePreload: { polyfill: false }, reportCompressedSize: false },
  server: { host: '127.0.0.1', proxy: { '/api': { target: server, changeOrigin: false } } },
  test: { include: ['src/**/*.test.ts'], environment: 'node' },
});
