import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';
import { SkippedTests } from './test/support/skipped-tests.ts';

// What Node compiles for a file of tests, the libraries above all, is kept for the next: a tenth of the processor time of a small file.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules/.cache/node');

const ALL = 'test/**/*.test.ts';
/**
 * Tests that have a process of their own, since they change it, or measure it: how it reaches the network, its environment before an SDK reads
 * that, its memory. All others share processes, which takes 0.4 s of a processor less for each file.
 */
const APART = [
  'adapters/{checkpoints,delivery}/**/*',
  'adapters/sandbox/e2b/**/*',
  'cluster/**/*',
  'policy-distribution/hostile-files',
].map((files) => `test/${files}.test.ts`);

export default defineConfig({
  test: {
    projects: [
      { extends: true, test: { name: 'apart', include: APART } },
      { extends: true, test: { name: 'sharing', include: [ALL], exclude: APART, isolate: false } },
    ],
    reporters: [new SkippedTests(), 'default'],
    setupFiles: ['test/support/no-network.ts', 'test/support/property-seed.ts'],
    sequence: { sequencer: LongestFirst },
    // Sandboxes die with the thread that made them, so tests need processes of their own.
    pool: 'forks',
    // They wait more than they compute: one more than a small machine has processors keeps it busy.
    maxWorkers: Math.max(3, availableParallelism()),
    // For what hangs. A machine that is busy with other work takes five times as long as an idle one.
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
});
