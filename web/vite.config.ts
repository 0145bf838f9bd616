import { defineConfig } from 'vitest/config';

// `npm run dev` shows the UI with quick reload. DWELL_URL is the address that `dwell view` printed, without the token. The
// page takes the token from its own address: http://127.0.0.1:5173/#token=TOKEN.
const server = process.env.DWELL_URL ?? 'http://127.0.0.1:8123';

export default defineConfig({
  esbuild: { jsx: 'automatic' },
  build: { target: 'es2022', assetsInlineLimit: 0, modulePreload: { polyfill: false }, reportCompressedSize: false },
  server: { host: '127.0.0.1', proxy: { '/api': { target: server, changeOrigin: false } } },
  test: { include: ['src/**/*.test.ts'], environment: 'node' },
});
