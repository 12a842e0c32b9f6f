/* oxlint-disable vitest/no-standalone-expect -- the tests are made of these scenarios by faultScenarios */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { extent } from '../full-form.ts';
import { failOnLeftoverProcesses } from '../no-leftovers.ts';
import { evaluateOnPods, type Ending } from './faulty-evaluation.ts';
import type { SimulatedRequest, Fault, FaultPlan } from './faults.ts';
import type { KubernetesContext } from './kubernetes-context.ts';

const RUNS = extent({ short: 4, full: 200, variable: 'MUSTER_FAULT_RUNS' });

/** A fault by itself: what goes wrong, which request meets it, and how. */
export type Alone = readonly [title: string, matches: (asked: SimulatedRequest) => boolean, fault: Fault];

export interface FaultSubject {
  readonly open: () => Promise<KubernetesContext>;
  readonly alone: readonly Alone[];
  /** What one random mixture does to requests. */
  readonly mixture: (run: number, context: KubernetesContext) => FaultPlan;
}

/** What the tests of one group share. */
export interface FaultyContext {
  readonly context: KubernetesContext;
  /** How the evaluation ends when nothing goes wrong. */
  readonly undisturbed: Ending;
}

/** Holds that faults alone change nothing in an evaluation's result, and that mixtures of them change nothing or leave none. */
export function faultScenarios({ open, alone, mixture }: FaultSubject): () => FaultyContext {
  failOnLeftoverProcesses();
  let shared: FaultyContext;
  beforeAll(async () => {
    const context = await open();
    shared = { context, undisturbed: await evaluateOnPods(context) };
  });
  afterAll(() => shared.context[Symbol.asyncDispose]());

  it.each(alone)('ends with the same official result when %s', async (_title, matches, fault) => {
    const { context, undisturbed } = shared;
    context.simulator.faults.plan(() => undefined);
    context.simulator.faults.once(matches, fault);
    expect(await evaluateOnPods(context)).toEqual(undisturbed);
    expect(context.simulator.faults.struck).toEqual([fault]);
    await context.simulator.pods.settled();
    expect(await context.traces()).toEqual([]);
  });

  it(
    `ends with the same official result, or with nothing scored, in ${RUNS} random mixtures`,
    { timeout: 180_000 + RUNS * 20_000 },
    async () => {
      const { context, undisturbed } = shared;
      const endings: Ending[] = [];
      let struck = 0;
      for (let run = 0; run < RUNS; run += 1) {
        context.simulator.faults.plan(mixture(run, context));
        endings.push(await evaluateOnPods(context));
        struck += context.simulator.faults.struck.length;
        context.simulator.faults.plan(() => undefined);
        await context.sweep();
        // A node cleans up behind a record that was taken away.
        await context.simulator.pods.settled();
        expect(await context.traces(), `run ${run}`).toEqual([]);
      }
      expect(struck).toBeGreaterThan(RUNS);
      const official = endings.filter(({ kind }) => kind === 'official');
      // All others ended with a typed infrastructure error: anything else would have been thrown.
      expect(official.length).toBeGreaterThan(RUNS / 2);
      expect(new Set(official.map((ending) => JSON.stringify(ending)))).toEqual(new Set([JSON.stringify(undisturbed)]));
    },
  );
  return () => shared;
}
