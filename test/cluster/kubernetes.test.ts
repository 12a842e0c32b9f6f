import { readFile } from 'node:fs/promises';
import nock from 'nock';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { digestOf } from '../../src/kernel/canonical-json.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { Muster } from '../../src/main.ts';
import type { Progress } from '../../src/orchestrator/progress.ts';
import type { Summary } from '../../src/orchestrator/summary.ts';
import { CARTPOLE, LATE, Stage } from '../end-to-end/stage.ts';
import { clusterUnderTest, dialBackSettings, dialBackUnavailable, podSettings, podsOf, shell, unavailable } from './cluster-under-test.ts';

nock.restore();

const {
  MUSTER_CLUSTER_PODS: PODS,
  MUSTER_CLUSTER_NAMESPACE: NAMESPACE,
  MUSTER_CLUSTER_RESTART_API_SERVER: restartApiServer,
  MUSTER_CLUSTER_RESTART_KUBELET: restartKubelet,
  MUSTER_CLUSTER_KILL_CONTAINER: killContainer,
} = clusterUnderTest;

/** Long enough that there is a middle: some seconds on two processors. */
const EPISODES = Math.max(3000, 30 * PODS);
/** The first evaluation is over before the last pods have come; they are kept for the next. */
const ROUNDS = 3;
const STRIKE_AFTER = EPISODES / 4;
const PATIENCE_MS = 900_000;
/** Of pods of this process. */
const OWNER_PREFIX = `muster-${process.pid}-`;

type Listener = (progress: Progress) => void;

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
  let official: string;
  beforeAll(async () => {
    await using stage = await Stage.open();
    const [here] = await evaluate(stage, { max: 2 }, {}, () => {});
    official = digestOf(JSON.stringify(here?.official));
  }, PATIENCE_MS);

  it('has all of them at work, the official result of bubblewrap, and leaves none', async () => {
    await using stage = await Stage.open();
    let most = 0;
    const rounds = await evaluateOnPods(stage, ({ pool }) => (most = Math.max(most, pool.sandboxes.leased)), { rounds: ROUNDS });
    expect(rounds.map((summary) => digestOf(JSON.stringify(summary.official)))).toEqual(rounds.map(() => official));
    expect(await podsOf(OWNER_PREFIX)).toEqual([]);
    expect(most).toBe(PODS);
  });

  for (const { what, variable, command } of DISASTERS) {
    const where = command === undefined ? ` (not here: ${variable} is not set)` : '';
    it.runIf(command !== undefined)(`has the same official result when ${what} in mid-evaluation${where}`, async () => {
      await using stage = await Stage.open();
      let strike: Promise<void> | undefined;
      const [onPods] = await evaluateOnPods(stage, ({ outcomes }) => {
        if (outcomes >= STRIKE_AFTER) strike ??= struck(command ?? '');
      });
      expect(strike, 'the evaluation was over before anything happened').toBeDefined();
      await strike;
      expect(digestOf(JSON.stringify(onPods?.official))).toBe(official);
      expect(onPods?.run.pool.died, 'what was done had no effect').toBeGreaterThan(0);
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
      const [here] = await evaluate(stage, { max: 2 }, {}, () => {});
      let strike: Promise<void> | undefined;
      const settings = { ...podSettings, transport: 'dial-back', dialBack: dialBackSettings() };
      const [onPods] = await evaluateOnPods(
        stage,
        ({ outcomes }) => {
          if (outcomes >= STRIKE_AFTER && restartApiServer !== undefined) strike ??= shell(restartApiServer);
        },
        { kubernetes: settings },
      );
      await strike;
      expect(JSON.stringify(onPods?.official)).toBe(JSON.stringify(here?.official));
      expect(onPods?.run.pool.created).toBe(PODS);
      expect(await podsOf(OWNER_PREFIX)).toEqual([]);
    });
  },
);

async function struck(command: string): Promise<void> {
  const [pod = ''] = await podsOf(OWNER_PREFIX);
  await shell(command, { POD: pod, NAMESPACE });
}

async function evaluateOnPods(
  stage: Stage,
  onProgress: Listener,
  { rounds = 1, kubernetes = podSettings }: { readonly rounds?: number; readonly kubernetes?: object } = {},
): Promise<readonly Summary[]> {
  const limits = { memoryBytes: '512MiB' };
  const pool = { min: PODS, max: PODS, creationsPerSecond: 20, readySeconds: 600 };
  return await evaluate(stage, pool, { provider: 'kubernetes', limits, kubernetes }, onProgress, rounds);
}

/** The same evaluation again and again, with one pool. */
async function evaluate(stage: Stage, pool: object, local: object, onProgress: Listener, rounds = 1): Promise<readonly Summary[]> {
  const cartpole: unknown = parse(await readFile(CARTPOLE, 'utf8'));
  const suite = await stage.write('long.json', { ...Object(cartpole), stop: { rule: 'fixed', episodes: EPISODES } });
  const file = await stage.write('muster.json', { stateDir: stage.stateDir, pool, templates: { local } });
  await using muster = await Muster.open(loadConfig({ file, environment: { HOME: '/' } }));
  const summaries: Summary[] = [];
  for (let i = 0; i < rounds; i += 1) summaries.push(await muster.evaluate({ suite, checkpoint: LATE }, { onProgress }));
  return summaries;
}
