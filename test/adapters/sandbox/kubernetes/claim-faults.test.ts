import nock from 'nock';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seededRandom } from '../../../aggregation/seeded-random.ts';
import { evaluateOnPods, TINY_RUNNERS, type Ending } from '../../../support/kubernetes/faulty-evaluation.ts';
import type { Asked, Fault } from '../../../support/kubernetes/faults.ts';
import { KubernetesGround } from '../../../support/kubernetes/kubernetes-ground.ts';
import { randomFaults } from '../../../support/kubernetes/random-faults.ts';
import { SANDBOXES } from '../../../support/kubernetes/agent-sandbox-objects.ts';
import { failOnLeftoverProcesses } from '../../../support/no-leftovers.ts';

nock.restore();

/** `MUSTER_FAULT_RUNS=200` is the full form: npm run test:faults. */
const RUNS = Number(process.env['MUSTER_FAULT_RUNS'] ?? 3);
const SEED = 20_261_122;

const isCreation = ({ method, path, kind }: Asked): boolean => kind === 'call' && method === 'POST' && path.endsWith('/sandboxclaims');
const isDeletion = ({ method, path }: Asked): boolean => method === 'DELETE' && path.includes('/sandboxclaims');
const isWatch = ({ kind, path }: Asked): boolean => kind === 'watch' && path.endsWith('/sandboxclaims');
const isLook = ({ kind, method, path }: Asked): boolean => kind === 'call' && method === 'GET' && path.includes('/pods/');

const ALONE: readonly (readonly [string, (asked: Asked) => boolean, Fault])[] = [
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

describe('an evaluation on claimed pods, whatever goes wrong', () => {
  failOnLeftoverProcesses();
  let ground: KubernetesGround;
  let undisturbed: Ending;

  beforeAll(async () => {
    ground = await KubernetesGround.open(TINY_RUNNERS, {}, { replicas: 2 });
    undisturbed = await evaluateOnPods(ground);
  });
  afterAll(() => ground[Symbol.asyncDispose]());

  it('has the official result of pods that Muster makes', async () => {
    await using made = await KubernetesGround.open(TINY_RUNNERS);
    expect(await evaluateOnPods(made)).toEqual(undisturbed);
    expect(undisturbed.kind).toBe('official');
  });

  it.each(ALONE)('ends with the same official result when %s', async (_title, matches, fault) => {
    ground.simulator.faults.plan(() => undefined);
    ground.simulator.faults.once(matches, fault);
    expect(await evaluateOnPods(ground)).toEqual(undisturbed);
    expect(await ground.traces()).toEqual([]);
  });

  it('ends with the same official result when a Sandbox is deleted in mid-evaluation', async () => {
    let execs = 0;
    ground.simulator.faults.plan(({ kind, path }) => {
      if (kind === 'exec' && (execs += 1) === 2) deleteSoon(ground, path);
      return undefined;
    });
    expect(await evaluateOnPods(ground)).toEqual(undisturbed);
    expect(await ground.traces()).toEqual([]);
  });

  it(
    `ends with the same official result, or with nothing scored, in ${RUNS} random mixtures`,
    { timeout: 60_000 + RUNS * 20_000 },
    async () => {
      const endings: Ending[] = [];
      for (let run = 0; run < RUNS; run += 1) {
        ground.simulator.faults.plan(randomFaults(seededRandom(SEED + run), 0.1));
        endings.push(await evaluateOnPods(ground));
        ground.simulator.faults.plan(() => undefined);
        await ground.sweep();
        expect(await ground.traces(), `run ${run}`).toEqual([]);
      }
      const official = endings.filter(({ kind }) => kind === 'official');
      // All others ended with a typed infrastructure error: anything else would have been thrown.
      expect(official.length).toBeGreaterThan(RUNS / 2);
      expect(new Set(official.map((ending) => JSON.stringify(ending)))).toEqual(new Set([JSON.stringify(undisturbed)]));
    },
  );
});

/** Once the command runs. */
function deleteSoon(ground: KubernetesGround, path: string): void {
  const pod = path.split('/').at(-2) ?? '';
  setTimeout(() => ground.simulator.agentSandbox.delete(SANDBOXES, pod, false), 50);
}
