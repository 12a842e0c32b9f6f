import { defineConfig } from 'vitest/config';
import { SkippedTests } from './test/support/skipped-tests.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    reporters: ['default', new SkippedTests()],
    setupFiles: ['test/support/no-network.ts'],
    // Sandboxes die with the thread that made them, so tests need processes of their own.
    pool: 'forks',
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
