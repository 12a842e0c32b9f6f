import { expect, it } from 'vitest';
import { PRO, type Plan } from '../support/e2b/account.ts';
import { useRealSockets } from '../support/e2b/real-sockets.ts';
import { E2bSimulator } from '../support/e2b/simulator.ts';
import { extent } from '../support/full-form.ts';
import { TINY_RUNNERS } from '../support/kubernetes/faulty-evaluation.ts';
import { failOnLeftoverProcesses } from '../support/no-leftovers.ts';
import { killedCrowd } from './killed-crowd.ts';
import { Stage } from './stage.ts';

useRealSockets();
failOnLeftoverProcesses();

const SANDBOXES = extent({ short: 8, full: 300, variable: 'MUSTER_CROWD' });
const PLAN: Plan = { ...PRO, concurrentSandboxes: SANDBOXES };

it(
  `a Muster that is killed with ${SANDBOXES} sandboxes at E2B leaves none once the next one has started`,
  { timeout: 120_000 + SANDBOXES * 2000 },
  async () => {
    await using stage = await Stage.open();
    await using simulator = await E2bSimulator.open({ baked: TINY_RUNNERS.mounts, plan: PLAN });
    const { account, credentials } = simulator;
    const e2b = { maxSandboxes: SANDBOXES, creationsPerSecond: PLAN.creationsPerSecond };
    const place = {
      template: { provider: 'e2b', e2b },
      environment: {
        E2B_API_KEY: credentials.apiKey,
        E2B_API_URL: credentials.apiUrl,
        E2B_SANDBOX_URL: credentials.sandboxUrl,
        // Over plain HTTP/1.1, unlike at E2B, each program's output takes a connection of its own.
        E2B_ENVD_RPC_CONNECTIONS: '1000',
      },
      ready: () => account.tenants.filter(({ id }) => (account.machine(id)?.processes.size ?? 0) > 0).length,
      names: () => account.tenants.map(({ id }) => id),
      creations: account.createdAt,
      mostAtOnce: () => account.mostAtOnce,
    };
    await killedCrowd(stage, place, { sandboxes: SANDBOXES, creationsPerSecond: PLAN.creationsPerSecond });
    expect(account.tenants).toEqual([]);
  },
);
