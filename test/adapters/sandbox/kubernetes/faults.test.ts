import nock from 'nock';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../../aggregation/seeded-random.ts';
import { faultScenarios, type Alone } from '../../../support/kubernetes/fault-scenarios.ts';
import { evaluateOnPods, TINY_RUNNERS } from '../../../support/kubernetes/faulty-evaluation.ts';
import type { SimulatedRequest } from '../../../support/kubernetes/faults.ts';
import { KubernetesContext } from '../../../support/kubernetes/kubernetes-context.ts';
import { randomDisaster, randomFaults } from '../../../support/kubernetes/random-faults.ts';
import type { Disaster } from '../../../support/kubernetes/simulated-pods.ts';

nock.restore();

const SEED = 20_261_121;

const isCreation = ({ method, path, kind }: SimulatedRequest): boolean => kind === 'call' && method === 'POST' && path.endsWith('/pods');
const isDeletion = ({ method, path }: SimulatedRequest): boolean => method === 'DELETE' && path.includes('/pods');
const isWatch = ({ kind }: SimulatedRequest): boolean => kind === 'watch';
const isExec = ({ kind }: SimulatedRequest): boolean => kind === 'exec';
const isRunner = ({ kind, query }: SimulatedRequest): boolean =>
  kind === 'exec' && query.getAll('command').some((word) => word.includes('tiny-runner'));
/** By then a runner is ready, and mostly plays. */
const MESSAGES = 2;

const ALONE: readonly Alone[] = [
  ['a creation is answered with 429', isCreation, { kind: 'status', code: 429, retryAfterSeconds: 1 }],
  ['a creation is answered with 500', isCreation, { kind: 'status', code: 500 }],
  ['a creation is done, and its answer lost', isCreation, { kind: 'drop', afterwards: true }],
  ['a creation is done, and answered with 500', isCreation, { kind: 'status', code: 500, afterwards: true }],
  ['a creation’s connection is dropped', isCreation, { kind: 'drop' }],
  ['a deletion is answered with 500', isDeletion, { kind: 'status', code: 500 }],
  ['the watch is refused with 410', isWatch, { kind: 'status', code: 410 }],
  ['the watch is refused with 429', isWatch, { kind: 'status', code: 429 }],
  ['the watch falls silent', isWatch, { kind: 'silence' }],
  ['the watch is dropped', isWatch, { kind: 'drop', after: 1 }],
  ['the watch ends in the middle of a line', isWatch, { kind: 'half-frame' }],
  ['the watch tells things in another order', isWatch, { kind: 'reorder' }],
  ['an exec is refused with 500', isExec, { kind: 'status', code: 500 }],
  ['an exec’s connection is dropped in mid-evaluation', isExec, { kind: 'drop', after: 3 }],
  ['an exec falls silent', isExec, { kind: 'silence' }],
];

describe('an evaluation on pods, whatever goes wrong', () => {
  const shared = faultScenarios({
    open: () => KubernetesContext.open(TINY_RUNNERS),
    alone: ALONE,
    mixture: (run) => {
      const random = seededRandom(SEED + run);
      const plan = randomFaults(random, 0.1);
      return (asked) => {
        if (asked.kind !== 'exec' || random() >= 0.15) return plan(asked);
        return { kind: 'disaster', disaster: randomDisaster(random), after: Math.floor(random() * 4) };
      };
    },
  });

  it.each<Disaster>(['evicted', 'preempted', 'node-lost', 'container-killed', 'deleted'])(
    'ends with the same official result when a pod is %s in mid-evaluation',
    async (disaster) => {
      const { context, undisturbed } = shared();
      const { faults } = context.simulator;
      faults.plan(() => undefined);
      faults.once(isRunner, { kind: 'disaster', disaster, after: MESSAGES });
      expect(await evaluateOnPods(context)).toEqual(undisturbed);
      expect(faults.struck).toMatchObject([{ disaster }]);
      faults.plan(() => undefined);
      // A node that comes back cleans up behind a record that was taken away.
      await context.simulator.pods.settled();
      expect(await context.traces()).toEqual([]);
    },
  );
});
