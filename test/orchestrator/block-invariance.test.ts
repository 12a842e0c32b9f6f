import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import type { EpisodeRecord } from '../../src/orchestrator/arm/episode-record.ts';
import type { SuiteDefinition } from '../../src/orchestrator/suite/suite-definition.ts';
import type { Summary } from '../../src/orchestrator/results/summary.ts';
import { EvaluationFixture, suiteWith } from '../support/evaluation-fixture.ts';
import type { ScriptedAnswer, ScriptedEpisode } from '../support/in-memory-runner.ts';
import { LosableSandboxes } from '../support/losable-sandboxes.ts';
import { settle } from '../support/manual-clock.ts';
import { MapJournal } from '../support/map-journal.ts';

const BLOCK = 12;
const PLAY = { mode: 'lockstep', width: 4, block: BLOCK };
const STOPS = [
  { rule: 'fixed', episodes: 150 },
  { rule: 'certified', halfWidth: 0.09 },
  { rule: 'approximate', halfWidth: 0.07 },
] as const;
const ALLOCATIONS = ['proportional', 'adaptive'] as const;

/** What happens to sandboxes and to Muster itself; none of it is the policy's doing. */
interface Disturbance {
  readonly sandboxes: number;
  /** Turns of the event loop that an episode takes at most. */
  readonly slowness: number;
  /** One block in so many has its runner killed, and one its sandbox taken away, in the middle of its first play. */
  readonly disturbEvery: number;
  /** `hopeless`: some episodes lose their sandbox wherever they are played. `copied`: whatever an idle sandbox finds under way is a straggler to it. */
  readonly kind: 'hopeless' | 'copied';
  readonly episodesPerSandbox: number;
  /** Muster is ended after so many episodes, and goes on from its journal; then after so many more. */
  readonly interruptions: readonly number[];
  /** One episode in so many of those stored is forgotten meanwhile, as if others had played the rest. */
  readonly forgetEvery: number;
  readonly salt: number;
}

const CALM: Omit<Disturbance, 'kind'> = {
  sandboxes: 1,
  slowness: 1,
  disturbEvery: Infinity,
  episodesPerSandbox: 1e9,
  interruptions: [],
  forgetEvery: Infinity,
  salt: 0,
};

const disturbances = fc.record<Disturbance>({
  sandboxes: fc.constantFrom(1, 7, 64),
  slowness: fc.integer({ min: 1, max: 10 }),
  disturbEvery: fc.integer({ min: 2, max: 9 }),
  kind: fc.constantFrom('hopeless', 'copied'),
  episodesPerSandbox: fc.integer({ min: 1, max: 100 }),
  interruptions: fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 2 }),
  forgetEvery: fc.integer({ min: 2, max: 30 }),
  salt: fc.nat(),
});

/** What an episode comes to depends on itself and on all that it is played together with. */
function outcomeOf({ task, environmentSeed, policySeed, block }: ScriptedEpisode, kind: Disturbance['kind']): ScriptedAnswer | 'lost' {
  if (kind === 'hopeless' && environmentSeed % 101 === 0) return 'lost';
  if (environmentSeed % 31 === 0) return { failed: 'environment-crash', detail: 'scripted' };
  const company = block.reduce((hash, index) => (Math.imul(hash, 31) + index) >>> 0, block.length);
  const share = ((environmentSeed ^ company) % 1000) / 999;
  const value = task === 0 ? 0.9 : task === 1 ? Math.round(share) : 0.6 + 0.3 * share;
  return { return: value, length: policySeed % 50, metrics: { seen: policySeed % 7 } };
}

async function evaluate(suite: SuiteDefinition, disturbance: Disturbance): Promise<Summary> {
  const journal = new MapJournal();
  for (const after of disturbance.interruptions) {
    const interrupt = new AbortController();
    const enough = journal.episodes.size + after;
    journal.onAppend = () => journal.episodes.size >= enough && interrupt.abort();
    const { run } = await evaluateOnce(suite, disturbance, journal, interrupt.signal);
    expect(run.nonDeterministic).toEqual([]);
    for (const index of journal.episodes.keys())
      if ((index ^ disturbance.salt) % disturbance.forgetEvery === 0) journal.episodes.delete(index);
  }
  journal.onAppend = () => undefined;
  return await evaluateOnce(suite, disturbance, journal);
}

async function evaluateOnce(suite: SuiteDefinition, disturbance: Disturbance, journal: MapJournal, signal?: AbortSignal): Promise<Summary> {
  const { sandboxes, slowness, disturbEvery, kind, episodesPerSandbox, salt } = disturbance;
  const disturbed = new Set<number | undefined>();
  const losable = new LosableSandboxes();
  const program = losable.program(async (episode, lose) => {
    const chance = Math.imul(episode.environmentSeed ^ salt, 0x9e3779b1) >>> 0;
    for (let turn = chance % slowness; turn > 0; turn -= 1) await settle();
    const [first] = episode.block;
    const happens = chance % (disturbEvery * BLOCK);
    if (happens < 2 && !disturbed.has(first)) {
      disturbed.add(first);
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
  return await fixture.evaluate(suite, { journal, ...(signal && { signal }) });
}

const tasks = [1, 2, 1].map((weight, task) => ({ name: `task-${task}`, weight, environment: 'm:f' }));
const suites = STOPS.flatMap((stop) => ALLOCATIONS.map((allocation) => ({ rule: stop.rule, stop, allocation })));

test.each(suites)(
  'played in blocks, the official result is byte-identical whatever the number of sandboxes, the order, the losses, the copies and the resumes: $rule, $allocation',
  async ({ stop, allocation }) => {
    const changes = { environment: undefined, tasks, allocation, stop, play: PLAY, budget: { episodes: 400 }, metrics: ['seen'], seed: 2 };
    const suite = suiteWith(changes);
    const undisturbed = {
      hopeless: (await evaluate(suite, { ...CALM, kind: 'hopeless' })).official,
      copied: (await evaluate(suite, { ...CALM, kind: 'copied' })).official,
    };
    expect(undisturbed.hopeless.unresolved).toBeGreaterThan(0);
    expect(undisturbed.copied.endedBy).toBe('rule');
    const met = { retried: 0, duplicated: 0, recalled: 0 };
    await fc.assert(
      fc.asyncProperty(disturbances, async (disturbance) => {
        const { official, run } = await evaluate(suite, disturbance);
        expect(JSON.stringify(official)).toBe(JSON.stringify(undisturbed[disturbance.kind]));
        expect(run.nonDeterministic).toEqual([]);
        met.retried += run.retried;
        met.duplicated += run.duplicated;
        met.recalled += run.recalled ?? 0;
      }),
      { numRuns: 25, seed: 4 },
    );
    expect(Math.min(met.retried, met.duplicated, met.recalled)).toBeGreaterThan(20);
  },
);

describe('an evaluation that is played in blocks', () => {
  const suite = suiteWith({ play: PLAY, stop: { rule: 'fixed', episodes: 30 } });
  const value = ({ environmentSeed }: ScriptedEpisode): ScriptedAnswer => ({ return: (environmentSeed % 1000) / 999 });

  it('plays the last block whole, and keeps its unneeded episodes as surplus', async () => {
    const losable = new LosableSandboxes();
    const records: EpisodeRecord[] = [];
    await using fixture = new EvaluationFixture({ program: losable.program(value), clock: losable.clock, sandboxes: 3 });
    const { official, run } = await fixture.evaluate(suite, { episodes: { write: (record) => void records.push(record) } });
    expect(official.episodes).toBe(30);
    expect(run).toMatchObject({ outcomes: 36, surplus: 6 });
    expect(records.map(({ index, part }) => [index, part])).toEqual(
      Array.from({ length: 36 }, (_, index) => [index, index < 30 ? 'official' : 'surplus']),
    );
  });

  it('runs ahead of a slow block by whole blocks, up to the window', async () => {
    const losable = new LosableSandboxes();
    const others = Promise.withResolvers<void>();
    let furthest = 0;
    const program = losable.program(async (episode) => {
      furthest = Math.max(furthest, episode.index);
      // The window of two sandboxes has 128 indices from the second on, and ends in the middle of a block.
      if (episode.index === 131) others.resolve();
      if (episode.index === 1) await others.promise;
      return value(episode);
    });
    await using fixture = new EvaluationFixture({ program, clock: losable.clock, sandboxes: 2, evaluation: { window: 10 } });
    const { official } = await fixture.evaluate(suiteWith({ play: PLAY, stop: { rule: 'fixed', episodes: 300 } }));
    expect(official.episodes).toBe(300);
    expect(furthest).toBe(299);
  });

  it('plays a partly known block again whole, counts the known episodes, and reports differences', async () => {
    const losable = new LosableSandboxes();
    const journal = new MapJournal();
    await using first = new EvaluationFixture({ program: losable.program(value), clock: losable.clock });
    const undisturbed = await first.evaluate(suite, { journal });
    for (const index of [13, 20]) journal.episodes.delete(index);
    const played: number[] = [];
    const drifting = losable.program((episode) => {
      played.push(episode.index);
      return [15, 22].includes(episode.index) ? { return: 0.5 } : value(episode);
    });
    await using second = new EvaluationFixture({ program: drifting, clock: losable.clock });
    const again = await second.evaluate(suite, { journal });
    expect(played).toEqual(Array.from({ length: BLOCK }, (_, position) => BLOCK + position));
    expect(again.official).toEqual(undisturbed.official);
    // The last is seen again after all that was missing has come.
    expect(again.run).toMatchObject({ nonDeterministic: [15, 22], recalled: 34 });
  });

  it('fails the open episodes of a block whose process ended, and continues with the next', async () => {
    const losable = new LosableSandboxes();
    const program = losable.program((episode) => (episode.index === 15 ? { exit: 1 } : value(episode)));
    await using fixture = new EvaluationFixture({ program, clock: losable.clock, sandboxes: 2 });
    const { official, run, warnings } = await fixture.evaluate(suite);
    expect(official.failures['environment-crash']).toBe(9);
    expect(run.sharedFailures).toBe(9);
    expect(warnings).toContainEqual(expect.stringMatching(/^9 episodes failed together with others of their block/));
  });

  it('gives one whole block to a sandbox that may play less than a block', async () => {
    const losable = new LosableSandboxes();
    await using fixture = new EvaluationFixture({ program: losable.program(value), clock: losable.clock, pool: { episodesPerSandbox: 1 } });
    const { run } = await fixture.evaluate(suite);
    expect(run.pool.created).toBe(3);
  });

  it('is refused by a runner that would play its episodes one by one', async () => {
    const losable = new LosableSandboxes();
    await using fixture = new EvaluationFixture({ program: losable.program(value, { protocol: 1 }), clock: losable.clock });
    await expect(fixture.evaluate(suite)).rejects.toMatchObject({ kind: 'input', code: 'runner.plays-no-blocks' });
  });

  it.each([
    ['single', 'single', 0.0008, /^80 % of the episodes' time .* "muster tune"/],
    ['lockstep of one row', { mode: 'lockstep', width: 1 }, 0.0008, /^80 % of the episodes' time/],
  ])(
    'would be faster, says the summary, when the policy takes most of the time at a width of 1: %s',
    async (_name, play, forward, warning) => {
      const { warnings, run } = await measured(play, forward);
      expect(run.forwardShare).toBeCloseTo(0.8, 9);
      expect(warnings).toContainEqual(expect.stringMatching(warning));
    },
  );

  it.each([
    ['the policy takes half of the time', 'single', 0.0005],
    ['rows are batched already', PLAY, 0.0008],
    ['the runner does not measure it', 'single', undefined],
  ])('is as fast as it gets when %s', async (_name, play, forward) => {
    const { warnings } = await measured(play, forward);
    expect(warnings.filter((text) => text.includes('muster tune'))).toEqual([]);
  });

  async function measured(play: unknown, forward: number | undefined): Promise<Summary> {
    const losable = new LosableSandboxes();
    const program = losable.program(() => ({ return: 1, ...(forward === undefined ? {} : { forward }) }));
    await using fixture = new EvaluationFixture({ program, clock: losable.clock });
    return await fixture.evaluate(suiteWith({ play, stop: { rule: 'fixed', episodes: 20 } }));
  }

  it('reports a remark of runners on the policy once', async () => {
    const losable = new LosableSandboxes();
    const program = losable.program(value, { warnings: ['rows are played one by one'] });
    await using fixture = new EvaluationFixture({ program, clock: losable.clock, sandboxes: 3 });
    const { warnings, run } = await fixture.evaluate(suite);
    expect(run.remarks).toEqual(['rows are played one by one']);
    expect(warnings.filter((warning) => warning.includes('one by one'))).toHaveLength(1);
  });
});
