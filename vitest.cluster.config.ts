import { defineConfig } from 'vitest/config';

/** Against what is really there: the cluster of the current kubeconfig, and E2B where there is a key. Never part of the other tests. */
export default defineConfig({
  test: {
    include: ['test/cluster/*.ts'],
    pool: 'forks',
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
});
