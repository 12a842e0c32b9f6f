import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/support/no-network.ts'],
    // Sandboxes die with the thread that made them, so tests need processes of their own.
    pool: 'forks',
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
