import nock from 'nock';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Summary } from '../../src/orchestrator/results/summary.ts';
import { Stage } from '../end-to-end/stage.ts';
import {
  clusterUnderTest,
  dialBackSettings,
  dialBackUnavailable,
  isAtWork,
  podSettings,
  podsOf,
  shell,
  unavailable,
} from './cluster-under-test.ts';
import { allAtWork, evaluateInRounds, never, officials, type Listener } from './long-evaluation.ts';

nock.restore();

const {
  MUSTER_CLUSTER_PODS: PODS,
  MUSTER_CLUSTER_NAMESPACE: NAMESPACE,
  MUSTER_CLUSTER_RESTART_API_SERVER: restartApiServer,
  MUSTER_CLUSTER_RESTART_KUBELET: restartKubelet,
  MUSTER_CLUSTER_KILL_CONTAINER: killContainer,
} = clusterUnderTest;

const PATIENCE_MS = 900_000;
/** Of pods of this process. */
const OWNER_PREFIX = `muster-${process.pid}-`;

interface Disaster {
  readonly what: string;
  readonly variable: string;
  readonly command: string | undefined;
}

const DISASTERS: readonly Disaster[] = [
  { what: 'the API server is killed', variable: 'MUSTER_CLUSTER_RESTART_API_SERVER', command: restartApiServer },
  { what: 'the kubelet is killed', variable: 'MUSTER_CLUSTER_RESTART_KUBELET', command: restartKubelet },
  { what: 'the container of a pod is killed', variable: 'MUSTER_CLUSTER_KILL_CONTAINER', command: killContainer },
];

describe.runIf(unavailable === undefined)(`an evaluation on ${PODS} pods of a real cluster`, { timeout: PATIENCE_MS }, () => {
  let official: ReadonlySet<string>;
  beforeAll(async () => {
    await using stage = await Stage.open();
    official = officials(await evaluateInRounds(stage, { max: 2 }, {}, undefined, () => true));
  }, PATIENCE_MS);

  it('has all of them at work, the official result of bubblewrap, and leaves none', async () => {
    await using stage = await Stage.open();
    let most = 0;
    const onProgress: Listener = ({ pool }) => (most = Math.max(most, pool.sandboxes.leased));
    const rounds = await evaluateOnPods(stage, onProgress, { isEnough: () => most === PODS });
    expect(officials(rounds)).toEqual(official);
    expect(await podsOf(OWNER_PREFIX)).toEqual([]);
    expect(most).toBe(PODS);
  });

  for (const { what, variable, command } of DISASTERS) {
    const where = command === undefined ? ` (not here: ${variable} is not set)` : '';
    it.runIf(command !== undefined)(`has the same official result when ${what} while all of them are at work${where}`, async () => {
      await using stage = await Stage.open();
      let strike: Promise<void> | undefined;
      let died = 0;
      const onProgress: Listener = (progress) => {
        if (allAtWork(progress)) strike ??= struck(command ?? '');
        died = progress.pool.totals.died;
      };
      const rounds = await evaluateOnPods(stage, onProgress, { isEnough: () => strike !== undefined && died > 0 });
      expect(strike, 'the evaluations were over before all pods were at work').toBeDefined();
      await strike;
      expect(officials(rounds)).toEqual(official);
      expect(died, 'the kill had no effect').toBeGreaterThan(0);
      expect(await podsOf(OWNER_PREFIX)).toEqual([]);
    });
  }
});

describe.runIf(dialBackUnavailable === undefined)(
  `an evaluation on ${PODS} pods that dial back, of a real cluster`,
  { timeout: PATIENCE_MS },
  () => {
    it(`has the official result of bubblewrap, and loses no pod${restartApiServer === undefined ? '' : ' though the API server is killed'}`, async () => {
      await using stage = await Stage.open();
      const official = officials(await evaluateInRounds(stage, { max: 2 }, {}, undefined, () => true));
      let strike: Promise<void> | undefined;
      const settings = { ...podSettings, transport: 'dial-back', dialBack: dialBackSettings() };
      let died = 0;
      const onProgress: Listener = (progress) => {
        if (restartApiServer !== undefined && allAtWork(progress)) strike ??= shell(restartApiServer);
        died = Math.max(died, progress.pool.totals.died);
      };
      const rounds = await evaluateOnPods(stage, onProgress, { kubernetes: settings, isEnough: () => strike !== undefined });
      await strike;
      expect(officials(rounds)).toEqual(official);
      expect(strike !== undefined).toBe(restartApiServer !== undefined);
      expect(died).toBe(0);
      expect(await podsOf(OWNER_PREFIX)).toEqual([]);
    });
  },
);

async function struck(command: string): Promise<void> {
  const [pod = ''] = await podsOf(OWNER_PREFIX, isAtWork);
  await shell(command, { POD: pod, NAMESPACE });
}

async function evaluateOnPods(
  stage: Stage,
  onProgress: Listener,
  { isEnough = never, kubernetes = podSettings }: { readonly isEnough?: () => boolean; readonly kubernetes?: object } = {},
): Promise<readonly Summary[]> {
  const limits = { memoryBytes: '512MiB' };
  // No sandbox is replaced after its episodes, so all of them exist at the same time.
  const pool = { min: PODS, max: PODS, creationsPerSecond: 20, readySeconds: 600, episodesPerSandbox: 1_000_000 };
  return await evaluateInRounds(stage, pool, { provider: 'kubernetes', limits, kubernetes }, onProgress, isEnough);
}
