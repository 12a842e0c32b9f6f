import nock from 'nock';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../../aggregation/seeded-random.ts';
import { sampled } from '../../../support/full-form.ts';
import { faultScenarios, type Alone } from '../../../support/kubernetes/fault-scenarios.ts';
import { evaluateOnPods, TINY_RUNNERS } from '../../../support/kubernetes/faulty-evaluation.ts';
import type { SimulatedRequest } from '../../../support/kubernetes/faults.ts';
import { KubernetesContext } from '../../../support/kubernetes/kubernetes-context.ts';
import { randomFaults } from '../../../support/kubernetes/random-faults.ts';

nock.restore();

const SEED = 20_261_122;

const isCreation = ({ method, path, kind }: SimulatedRequest): boolean =>
  kind === 'call' && method === 'POST' && path.endsWith('/sandboxclaims');
const isDeletion = ({ method, path }: SimulatedRequest): boolean => method === 'DELETE' && path.includes('/sandboxclaims');
const isWatch = ({ kind, path }: SimulatedRequest): boolean => kind === 'watch' && path.endsWith('/sandboxclaims');
const isLook = ({ kind, method, path }: SimulatedRequest): boolean => kind === 'call' && method === 'GET' && path.includes('/pods/');

const ALONE: readonly Alone[] = [
  ['a claim is answered with 429', isCreation, { kind: 'status', code: 429, retryAfterSeconds: 1 }],
  ['a claim is made, and its answer lost', isCreation, { kind: 'drop', afterwards: true }],
  ['a claim is made, and answered with 500', isCreation, { kind: 'status', code: 500, afterwards: true }],
  ['a claim’s deletion is answered with 500', isDeletion, { kind: 'status', code: 500 }],
  ['the watch of claims is refused with 410', isWatch, { kind: 'status', code: 410 }],
  ['the watch of claims is refused with 429', isWatch, { kind: 'status', code: 429 }],
  ['the watch of claims falls silent', isWatch, { kind: 'silence' }],
  ['the watch of claims ends in the middle of a line', isWatch, { kind: 'half-frame' }],
  ['the watch of claims tells things in another order', isWatch, { kind: 'reorder' }],
  ['nothing is known of a claimed pod', isLook, { kind: 'status', code: 500 }],
];

/** What a claim meets and a pod does not. In the short form, faults.test.ts has the rest of Muster's own pods. */
const SHORT_FORM = new Set([
  'a claim is made, and its answer lost',
  'the watch of claims falls silent',
  'nothing is known of a claimed pod',
]);

describe('an evaluation on claimed pods, whatever goes wrong', () => {
  const shared = faultScenarios({
    open: () => KubernetesContext.open(TINY_RUNNERS, {}, { replicas: 2 }),
    alone: sampled(ALONE, ([title]) => SHORT_FORM.has(title)),
    mixture: (run) => randomFaults(seededRandom(SEED + run), 0.1),
  });

  it('has the official result of pods that Muster makes', async () => {
    await using made = await KubernetesContext.open(TINY_RUNNERS);
    const { undisturbed } = shared();
    expect(await evaluateOnPods(made)).toEqual(undisturbed);
    expect(undisturbed.kind).toBe('official');
  });

  it('ends with the same official result when a Sandbox is deleted in mid-evaluation', async () => {
    const { context, undisturbed } = shared();
    const { faults } = context.simulator;
    faults.plan(() => undefined);
    faults.once(({ kind }) => kind === 'exec', { kind: 'disaster', disaster: 'sandbox-deleted', after: 2 });
    expect(await evaluateOnPods(context)).toEqual(undisturbed);
    expect(faults.struck).toMatchObject([{ disaster: 'sandbox-deleted' }]);
    faults.plan(() => undefined);
    // What was taken away goes without being awaited.
    await context.simulator.pods.settled();
    expect(await context.traces()).toEqual([]);
  });
});
