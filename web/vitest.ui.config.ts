import { defineConfig } from 'vitest/config';

// The screens in a real browser, on recordings made for the test.
export default defineConfig({
  test: {
    include: ['tests/ui/**/*.test.ts'],
    environment: 'node',
    globalSetup: ['tests/ui/setup.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Two files at once: a browser waits for a server, and a server for a browser.
    maxWorkers: 2,
    minWorkers: 1,
    // A browser beside a server on two CPUs is slow at times, so one failure proves nothing.
    retry: 2,
  },
});
