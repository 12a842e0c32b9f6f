import nock from 'nock';
import { expect, it } from 'vitest';
import { TINY_RUNNERS } from '../support/kubernetes/faulty-evaluation.ts';
import { IMAGE, KubernetesGround } from '../support/kubernetes/kubernetes-ground.ts';
import { failOnLeftoverProcesses } from '../support/no-leftovers.ts';
import { ANYTHING, Stage } from './stage.ts';

nock.restore();
failOnLeftoverProcesses();

/** `MUSTER_CROWD=300` is the full form: npm run test:faults. */
const PODS = Number(process.env['MUSTER_CROWD'] ?? 24);
const STEP = PODS / 6;
const PER_SECOND = Math.max(10, PODS / 10);
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
  const pool = { max: PODS, min: PODS, creationsPerSecond: PER_SECOND };
  const config = await stage.write('muster.json', { stateDir: stage.stateDir, pool, templates: { local } });
  const [long, short] = await Promise.all([
    stage.write('long.json', { ...SUITE, stop: { rule: 'fixed', episodes: 10_000_000 } }),
    stage.write('short.json', { ...SUITE, stop: { rule: 'fixed', episodes: 1000 } }),
  ]);

  const killed = stage.start(['eval', long, '--checkpoint', ANYTHING, '--config', config]);
  // Step by step: what is waited for at a time is bounded, and hundreds of pods take longer than that.
  for (let count = STEP; count <= PODS; count += STEP) await killed.until(`${count} pods have runners`, () => simulator.openExecs >= count);
  killed.signal('SIGKILL');
  await killed.ended;
  const orphans = simulator.podNames();
  expect(orphans).toHaveLength(PODS);
  expect(mostWithin(simulator.creations, 1000)).toBeLessThanOrEqual(2 * PER_SECOND);

  const next = await stage.run(['eval', short, '--checkpoint', ANYTHING, '--config', config, '--json']);
  expect(next.summary().official.episodes).toBe(1000);
  expect(orphans.filter((name) => simulator.podNames().includes(name))).toEqual([]);
  expect(await ground.traces()).toEqual([]);
});

/** How many of the moments lie within one window of this length, at most. */
function mostWithin(moments: readonly number[], length: number): number {
  return Math.max(...moments.map((from) => moments.filter((moment) => moment >= from && moment < from + length).length));
}
