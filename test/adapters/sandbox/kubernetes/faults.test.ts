import nock from 'nock';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seededRandom } from '../../../aggregation/seeded-random.ts';
import { evaluateOnPods, TINY_RUNNERS, type Ending } from '../../../support/kubernetes/faulty-evaluation.ts';
import type { Asked, Fault } from '../../../support/kubernetes/faults.ts';
import { KubernetesGround } from '../../../support/kubernetes/kubernetes-ground.ts';
import { randomDisaster, randomFaults } from '../../../support/kubernetes/random-faults.ts';
import type { Disaster } from '../../../support/kubernetes/simulated-pods.ts';
import { failOnLeftoverProcesses } from '../../../support/no-leftovers.ts';

nock.restore();

/** `MUSTER_FAULT_RUNS=200` is the full form: npm run test:faults. */
const RUNS = Number(process.env['MUSTER_FAULT_RUNS'] ?? 6);
const SEED = 20_261_121;

const isCreation = ({ method, path, kind }: Asked): boolean => kind === 'call' && method === 'POST' && path.endsWith('/pods');
const isDeletion = ({ method, path }: Asked): boolean => method === 'DELETE' && path.includes('/pods');
const isWatch = ({ kind }: Asked): boolean => kind === 'watch';
const isExec = ({ kind }: Asked): boolean => kind === 'exec';

const ALONE: readonly (readonly [string, (asked: Asked) => boolean, Fault])[] = [
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
  failOnLeftoverProcesses();
  let ground: KubernetesGround;
  let undisturbed: Ending;

  beforeAll(async () => {
    ground = await KubernetesGround.open(TINY_RUNNERS);
    undisturbed = await evaluateOnPods(ground);
  });
  afterAll(() => ground[Symbol.asyncDispose]());

  it.each(ALONE)('ends with the same official result when %s', async (_title, matches, fault) => {
    ground.simulator.faults.plan(() => undefined);
    ground.simulator.faults.once(matches, fault);
    expect(await evaluateOnPods(ground)).toEqual(undisturbed);
    expect(await ground.traces()).toEqual([]);
  });

  it.each<Disaster>(['evicted', 'preempted', 'node-lost', 'container-killed', 'deleted'])(
    'ends with the same official result when a pod is %s in mid-evaluation',
    async (disaster) => {
      ground.simulator.faults.plan(() => undefined);
      strikeAtExec(ground, 2, disaster);
      expect(await evaluateOnPods(ground)).toEqual(undisturbed);
      ground.simulator.faults.plan(() => undefined);
      // A node that comes back cleans up behind a record that was taken away.
      await ground.simulator.pods.settled();
      expect(await ground.traces()).toEqual([]);
    },
  );

  it(
    `ends with the same official result, or with nothing scored, in ${RUNS} random mixtures`,
    { timeout: 60_000 + RUNS * 20_000 },
    async () => {
      const endings: Ending[] = [];
      for (let run = 0; run < RUNS; run += 1) {
        const random = seededRandom(SEED + run);
        const plan = randomFaults(random, 0.1);
        ground.simulator.faults.plan((asked) => {
          if (asked.kind === 'exec' && random() < 0.15) strikeSoon(ground, asked.path, randomDisaster(random));
          return plan(asked);
        });
        endings.push(await evaluateOnPods(ground));
        ground.simulator.faults.plan(() => undefined);
        await ground.sweep();
        await ground.simulator.pods.settled();
        expect(await ground.traces(), `run ${run}`).toEqual([]);
      }

      const official = endings.filter(({ kind }) => kind === 'official');
      // All others ended with a typed infrastructure error: anything else would have been thrown.
      expect(official.length).toBeGreaterThan(RUNS / 2);
      expect(new Set(official.map((ending) => JSON.stringify(ending)))).toEqual(new Set([JSON.stringify(undisturbed)]));
    },
  );
});

/** At the so many-th exec, the pod that it is for. */
function strikeAtExec(ground: KubernetesGround, at: number, disaster: Disaster): void {
  let count = 0;
  ground.simulator.faults.plan(({ kind, path }) => {
    if (kind === 'exec' && (count += 1) === at) strikeSoon(ground, path, disaster);
    return undefined;
  });
}

/** Once the command runs. */
function strikeSoon(ground: KubernetesGround, path: string, disaster: Disaster): void {
  const pod = path.split('/').at(-2) ?? '';
  setTimeout(() => ground.simulator.pods.strike(pod, disaster), 50);
}
