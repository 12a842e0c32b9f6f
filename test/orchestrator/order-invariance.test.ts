import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { SuiteDefinition } from '../../src/orchestrator/suite/suite-definition.ts';
import type { Summary } from '../../src/orchestrator/results/summary.ts';
import { EvaluationFixture, suiteWith } from '../support/evaluation-fixture.ts';
import type { ScriptedAnswer, ScriptedEpisode } from '../support/in-memory-runner.ts';
import { LosableSandboxes } from '../support/losable-sandboxes.ts';
import { settle } from '../support/manual-clock.ts';
import { extent } from '../support/full-form.ts';

const STOPS = [
  { rule: 'fixed', episodes: 150 },
  { rule: 'certified', halfWidth: 0.09 },
  { rule: 'approximate', halfWidth: 0.07 },
  { rule: 'asymptotic', halfWidth: 0.1 },
] as const;
const ALLOCATIONS = ['proportional', 'adaptive'] as const;

/** What happens to the sandboxes and in which order episodes end; none of it is the policy's doing. */
interface Disturbance {
  readonly sandboxes: number;
  /** Turns of the event loop that an episode takes at most. */
  readonly slowness: number;
  /** One episode in so many has its runner killed, and one its sandbox taken away, when it is played for the first time. */
  readonly disturbEvery: number;
  /**
   * `hopeless`: some episodes lose their sandbox or their runner wherever they are played. `copied`: none do, and whatever an idle sandbox finds under
   * way is a straggler to it.
   */
  readonly kind: 'hopeless' | 'copied';
  readonly episodesPerSandbox: number;
  readonly salt: number;
}

const CALM: Omit<Disturbance, 'kind'> = { sandboxes: 1, slowness: 1, disturbEvery: Infinity, episodesPerSandbox: 1e9, salt: 0 };

const disturbances = fc.record<Disturbance>({
  sandboxes: fc.constantFrom(1, 16, 256),
  slowness: fc.integer({ min: 1, max: 10 }),
  disturbEvery: fc.integer({ min: 15, max: 120 }),
  kind: fc.constantFrom('hopeless', 'copied'),
  episodesPerSandbox: fc.integer({ min: 5, max: 300 }),
  salt: fc.nat(),
});

/** Of the three tasks one is a constant, one all or nothing, one in between. The episode alone decides. */
function outcomeOf({ task, environmentSeed, policySeed }: ScriptedEpisode, kind: Disturbance['kind']): ScriptedAnswer | 'lost' {
  if (kind === 'hopeless' && environmentSeed % 101 === 0) return 'lost';
  if (kind === 'hopeless' && environmentSeed % 97 === 0) return { exit: 137 };
  if (environmentSeed % 31 === 0) return { failed: 'environment-crash', detail: 'scripted' };
  const share = (environmentSeed % 1000) / 999;
  const value = task === 0 ? 0.9 : task === 1 ? Math.round(share) : 0.6 + 0.3 * share;
  return { return: value, length: policySeed % 50, metrics: { seen: policySeed % 7 } };
}

async function evaluate(suite: SuiteDefinition, disturbance: Disturbance): Promise<Summary> {
  const { sandboxes, slowness, disturbEvery, kind, episodesPerSandbox, salt } = disturbance;
  const disturbed = new Set<number>();
  const losable = new LosableSandboxes();
  const program = losable.program(async (episode, lose) => {
    const chance = Math.imul(episode.environmentSeed ^ salt, 0x9e3779b1) >>> 0;
    for (let turn = chance % slowness; turn > 0; turn -= 1) await settle();
    const happens = chance % disturbEvery;
    if (happens < 2 && !disturbed.has(episode.index)) {
      disturbed.add(episode.index);
      return happens === 0 ? { exit: 137 } : lose();
    }
    const outcome = outcomeOf(episode, kind);
    return outcome === 'lost' ? lose() : outcome;
  });
  await using fixture = new EvaluationFixture({
    program,
    clock: losable.clock,
    sandboxes,
    pool: { episodesPerSandbox },
    evaluation: { infrastructureRetries: 1000, ...(kind === 'copied' ? { stragglerFactor: 1e-9, stragglerMilliseconds: 0 } : {}) },
  });
  return await fixture.evaluate(suite);
}

const weights = [1, 2, 1];
const tasks = weights.map((weight, task) => ({ name: `task-${task}`, weight, environment: 'm:f' }));
const suites = STOPS.flatMap((stop) => ALLOCATIONS.map((allocation) => ({ rule: stop.rule, stop, allocation })));

test.each(suites)(
  'the official result is byte-identical on 1, 16 and 256 sandboxes, whatever the order, the losses, the kills and the copies: $rule, $allocation',
  async ({ stop, allocation }) => {
    const suite = suiteWith({ environment: undefined, tasks, allocation, stop, budget: { episodes: 400 }, metrics: ['seen'], seed: 2 });
    const undisturbed = {
      hopeless: (await evaluate(suite, { ...CALM, kind: 'hopeless' })).official,
      copied: (await evaluate(suite, { ...CALM, kind: 'copied' })).official,
    };
    for (const { endedBy, warnings } of Object.values(undisturbed)) {
      expect(endedBy).toBe('rule');
      expect(warnings.some((warning) => warning.includes('not drawn by weight'))).toBe(allocation === 'adaptive');
    }
    expect(undisturbed.hopeless.unresolved).toBeGreaterThan(0);
    const met = { retried: 0, duplicated: 0, surplus: 0 };
    await fc.assert(
      fc.asyncProperty(disturbances, async (disturbance) => {
        const { official, run } = await evaluate(suite, disturbance);
        expect(JSON.stringify(official)).toBe(JSON.stringify(undisturbed[disturbance.kind]));
        expect(run.nonDeterministic).toEqual([]);
        met.retried += run.retried;
        met.duplicated += run.duplicated;
        met.surplus += run.surplus;
      }),
      { numRuns: extent({ short: 5, full: 25 }), seed: 3 },
    );
    expect(Math.min(met.retried, met.duplicated)).toBeGreaterThan(20);
    expect(met.surplus > 0).toBe(stop.rule !== 'fixed');
  },
);
