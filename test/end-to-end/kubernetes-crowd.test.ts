import nock from 'nock';
import { expect, it } from 'vitest';
import { TINY_RUNNERS } from '../support/kubernetes/faulty-evaluation.ts';
import { IMAGE, KubernetesGround } from '../support/kubernetes/kubernetes-ground.ts';
import { failOnLeftoverProcesses } from '../support/no-leftovers.ts';
import { ANYTHING, Stage } from './stage.ts';

nock.restore();
failOnLeftoverProcesses();

/** `MUSTER_CROWD=100` is the full form: npm run test:faults. */
const PODS = Number(process.env['MUSTER_CROWD'] ?? 24);
const STEP = PODS / 6;
const PER_SECOND = Math.max(4, PODS / 10);
const SUITE = { name: 'crowd', environment: 'module:factory', reward: { bounds: [0, 1] } };

it(`a Muster that is killed with ${PODS} pods leaves none once the next one has started`, { timeout: 60_000 + PODS * 1000 }, async () => {
  await using stage = await Stage.open();
  await using ground = await KubernetesGround.open(TINY_RUNNERS);
  const { simulator } = ground;
  const local = {
    provider: 'kubernetes',
    command: ['perl', '/opt/runners/tiny-runner.pl'],
    limits: { memoryBytes: '64MiB', diskBytes: '1MiB' },
    kubernetes: { kubeconfig: ground.pod.kubeconfig, image: IMAGE, requestsPerSecond: 500 },
  };
  // None is worn out meanwhile, and replaced: the runner plays tens of thousands of episodes a second.
  const pool = { max: PODS, min: PODS, creationsPerSecond: PER_SECOND, episodesPerSandbox: 1_000_000_000 };
  // One episode at a time: the crowd is there, and the processors are free to make it.
  const evaluation = { window: 1 };
  const config = await stage.write('muster.json', { stateDir: stage.stateDir, pool, evaluation, templates: { local } });
  const [long, short] = await Promise.all([
    stage.write('long.json', { ...SUITE, stop: { rule: 'fixed', episodes: 10_000_000 } }),
    stage.write('short.json', { ...SUITE, stop: { rule: 'fixed', episodes: 1000 } }),
  ]);

  const start = performance.now();
  const killed = stage.start(['eval', long, '--checkpoint', ANYTHING, '--config', config]);
  // Step by step: what is waited for at a time is bounded, and hundreds of pods take longer than that.
  // A pod that its files are brought to has two programs in it for a moment.
  const crowd = (): number => Math.min(simulator.openExecs, simulator.podNames().length);
  for (let count = STEP; count <= PODS; count += STEP) await killed.until(`${count} pods have runners`, () => crowd() >= count);
  killed.signal('SIGKILL');
  await killed.ended;
  const orphans = simulator.podNames();
  expect(orphans).toHaveLength(PODS);
  // However busy this machine is, nothing is made before its time: a second's worth at once, then at the configured rate.
  const secondsToLast = (Math.max(...simulator.creations) - start) / 1000;
  expect(secondsToLast).toBeGreaterThanOrEqual((PODS - PER_SECOND) / PER_SECOND);

  const next = await stage.run(['eval', short, '--checkpoint', ANYTHING, '--config', config, '--json']);
  expect(next.summary().official.episodes).toBe(1000);
  expect(orphans.filter((name) => simulator.podNames().includes(name))).toEqual([]);
  expect(await ground.traces()).toEqual([]);
});
