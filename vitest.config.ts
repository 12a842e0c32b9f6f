import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { SkippedTests } from './test/support/skipped-tests.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    reporters: [new SkippedTests(), 'default'],
    setupFiles: ['test/support/no-network.ts', 'test/support/property-seed.ts'],
    // Sandboxes die with the thread that made them, so tests need processes of their own.
    pool: 'forks',
    // They wait more than they compute: one more than a small machine has processors keeps it busy.
    maxWorkers: Math.max(3, availableParallelism()),
    // For what hangs. A machine that is busy with other work takes five times as long as an idle one.
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
});
