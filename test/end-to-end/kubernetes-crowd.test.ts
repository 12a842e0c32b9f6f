import nock from 'nock';
import { expect, it } from 'vitest';
import { systemClock } from '../../src/kernel/clock.ts';
import { eventually } from '../support/eventually.ts';
import { extent } from '../support/full-form.ts';
import { evaluateOnPods, TINY_RUNNERS } from '../support/kubernetes/faulty-evaluation.ts';
import { IMAGE, KubernetesContext } from '../support/kubernetes/kubernetes-context.ts';
import { failOnLeftoverProcesses } from '../support/no-leftovers.ts';
import { expectPaced, killedCrowd, oneByOne } from './killed-crowd.ts';
import { Stage } from './stage.ts';

nock.restore();
failOnLeftoverProcesses();

const PODS = extent({ short: 16, full: 300, variable: 'MUSTER_CROWD' });
const PER_SECOND = Math.max(12, PODS / 10);
const PATIENCE = { timeout: 120_000 + PODS * 2000 };

it(`a Muster that is killed with ${PODS} pods leaves none once the next one has started`, PATIENCE, async () => {
  await using stage = await Stage.open();
  await using context = await KubernetesContext.open(TINY_RUNNERS);
  const { simulator } = context;
  const kubernetes = { kubeconfig: context.pod.kubeconfig, image: IMAGE };
  const place = {
    template: { provider: 'kubernetes', kubernetes },
    // A pod that its files are brought to has two programs in it for a moment.
    ready: () => Math.min(simulator.openExecs, simulator.podNames().length),
    names: () => simulator.podNames(),
    creations: simulator.creations,
    mostAtOnce: () => simulator.mostPodsAtOnce,
  };
  await killedCrowd(stage, place, { sandboxes: PODS, creationsPerSecond: PER_SECOND });
  expect(await context.traces()).toEqual([]);
});

it(`${PODS} pods are all made, none too early, and play an evaluation to its end`, PATIENCE, async () => {
  await using context = await KubernetesContext.open(TINY_RUNNERS);
  const { creations } = context.simulator;
  const start = performance.now();
  const ending = await evaluateOnPods(context, {
    sandboxes: PODS,
    episodes: 20 * PODS,
    clock: systemClock,
    pool: { min: PODS, creationsPerSecond: PER_SECOND },
    whenStarted: async (fixture) => {
      const idle = (): number => fixture.poolState().sandboxes.idle;
      await oneByOne(PODS, (count) => eventually(`${count} pods are ready`, () => idle() >= count));
      // Later some more take the place of those that were in the midst of something as the evaluation ended.
      expect(creations).toHaveLength(PODS);
    },
  });
  expect(ending.kind).toBe('official');
  expectPaced(creations, start, PER_SECOND);
  expect(await context.traces()).toEqual([]);
});
