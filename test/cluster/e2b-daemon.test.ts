import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Summary } from '../../src/orchestrator/results/summary.ts';
import { Stage } from '../end-to-end/stage.ts';
import { bakedRunner } from '../support/e2b/baked-runner.ts';
import { FAULTS, type Fault } from '../support/e2b/faults.ts';
import { RealDaemons } from '../support/e2b/real-daemons.ts';
import { useRealSockets } from '../support/e2b/real-sockets.ts';
import { E2bSimulator } from '../support/e2b/simulator.ts';
import { clusterUnderTest } from './cluster-under-test.ts';
import { allAtWork, evaluateInRounds, never, officials, type Listener } from './long-evaluation.ts';

const { MUSTER_TEST_CLUSTER, MUSTER_CLUSTER_ENVD: envd = '', MUSTER_CLUSTER_PODS: SANDBOXES } = clusterUnderTest;
const isHere = MUSTER_TEST_CLUSTER === '1' && envd !== '';
const PATIENCE_MS = 900_000;

// Over plain HTTP/1.1, unlike at E2B, each program's output takes a connection of its own; the SDK reads this before its first request.
process.env['E2B_ENVD_RPC_CONNECTIONS'] = '1000';
useRealSockets();

/** Each kind of fault on some request of each kind, as hundreds are made. */
const EACH: readonly Fault[] = FAULTS.flatMap((kind, i) =>
  (['create', 'list', 'start', 'input', 'upload', 'move', 'extend'] as const).map((route) => ({ route, nth: 3 * i + 2, kind })),
);

describe.runIf(isHere)(`an evaluation on ${SANDBOXES} sandboxes with E2B’s own daemon`, { timeout: PATIENCE_MS }, () => {
  let official: ReadonlySet<string>;
  beforeAll(async () => {
    await using stage = await Stage.open();
    official = officials(await evaluateInRounds(stage, { max: 2 }, {}, undefined, () => true));
  }, PATIENCE_MS);
  afterEach(() => vi.unstubAllEnvs());

  it('has all of them at work, the official result of bubblewrap, and leaves none', async () => {
    let most = 0;
    const isEnough = (): boolean => most === SANDBOXES;
    const rounds = await evaluateThere([], ({ pool }) => (most = Math.max(most, pool.sandboxes.leased)), isEnough);
    expect(officials(rounds)).toEqual(official);
    expect(most).toBe(SANDBOXES);
  });

  it('has the same official result when requests fail in every way', async () => {
    expect(officials(await evaluateThere(EACH))).toEqual(official);
  });

  it('has the same official result when every fourth sandbox dies while all of them are at work', async () => {
    let struck: Promise<unknown> | undefined;
    const rounds = await evaluateThere(
      [],
      (progress, { account }) => {
        if (!allAtWork(progress)) return;
        struck ??= Promise.all(account.tenants.filter((_tenant, i) => i % 4 === 0).map((tenant) => account.end(tenant)));
      },
      () => struck !== undefined,
    );
    expect(struck, 'the evaluations were over before all were at work').toBeDefined();
    await struck;
    expect(officials(rounds)).toEqual(official);
  });

  async function evaluateThere(
    faults: readonly Fault[],
    onProgress: (progress: Parameters<Listener>[0], simulator: E2bSimulator) => void = () => {},
    isEnough = never,
  ): Promise<readonly Summary[]> {
    await using stage = await Stage.open();
    await using simulator = await E2bSimulator.open({ daemons: new RealDaemons(envd), faults });
    const { apiKey, apiUrl, sandboxUrl } = simulator.credentials;
    for (const [name, value] of Object.entries({ E2B_API_KEY: apiKey, E2B_API_URL: apiUrl, E2B_SANDBOX_URL: sandboxUrl }))
      vi.stubEnv(name, value);
    const { python } = await bakedRunner();
    const e2b = { runner: 'uploaded', python, maxSandboxes: SANDBOXES, creationsPerSecond: 5 };
    const pool = { min: SANDBOXES, max: SANDBOXES, readySeconds: 600, episodesPerSandbox: 1_000_000 };
    const rounds = await evaluateInRounds(stage, pool, { provider: 'e2b', e2b }, (progress) => onProgress(progress, simulator), isEnough);
    expect(simulator.account.tenants).toEqual([]);
    return rounds;
  }
});
