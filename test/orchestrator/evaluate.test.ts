import { describe, expect, it } from 'vitest';
import type { Program } from '../support/in-memory-sandbox/program.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { InfrastructureError } from '../../src/kernel/errors.ts';
import type { EpisodeRecord, EpisodeSink } from '../../src/orchestrator/arm/episode-record.ts';
import { EvaluationFailedError } from '../../src/orchestrator/evaluate.ts';
import { summarySchema } from '../../src/orchestrator/results/summary.ts';
import { digestBytes } from '../../src/kernel/canonical-json.ts';
import type { StoredCheckpoint } from '../../src/policy-distribution/stored-checkpoint.ts';
import { EvaluationFixture, PAPER_CHECKPOINT, suiteWith } from '../support/evaluation-fixture.ts';
import { scriptedRunner, type PlayEpisode, type ScriptedEpisode } from '../support/in-memory-runner.ts';
import { ManualClock } from '../support/manual-clock.ts';

/** A return in [0, 1] that depends on the episode alone. */
const value = ({ environmentSeed }: ScriptedEpisode): number => (environmentSeed % 1000) / 999;
const honest: PlayEpisode = (episode) => ({ return: value(episode) });

function recordingSink(): EpisodeSink & { readonly records: EpisodeRecord[] } {
  const records: EpisodeRecord[] = [];
  return {
    records,
    write(record) {
      records.push(record);
      return undefined;
    },
  };
}

describe('an evaluation', () => {
  it('plays the episodes of its suite and returns their result', async () => {
    await using fixture = new EvaluationFixture({ program: scriptedRunner(honest), clock: systemClock });
    const summary = await fixture.evaluate(suiteWith());
    expect(summarySchema.parse(summary)).toEqual(summary);
    expect(summary).toMatchObject({
      ended: 'rule',
      partial: false,
      official: { episodes: 200, resolved: 200, unresolved: 0 },
      run: { surplus: 0, retried: 0 },
    });
  });

  it('stops by its certified rule and leaves out surplus episodes', async () => {
    await using fixture = new EvaluationFixture({ program: scriptedRunner(honest), clock: systemClock, sandboxes: 16 });
    const episodes = recordingSink();
    const summary = await fixture.evaluate(suiteWith({ stop: { rule: 'certified', halfWidth: 0.1 } }), { episodes });
    expect(summary.official.interval?.method).toBe('certified');
    expect((summary.official.interval?.high ?? 1) - (summary.official.interval?.low ?? 0)).toBeLessThanOrEqual(0.2);
    const parts = Map.groupBy(episodes.records, ({ part }) => part);
    expect(parts.get('official')?.map(({ index }) => index)).toEqual(Array.from({ length: summary.official.episodes }, (_, i) => i));
    expect(parts.get('surplus')?.length ?? 0).toBe(summary.run.surplus);
  });

  it('ends with the budget of episodes, labelled partial, when the rule is not satisfied', async () => {
    await using fixture = new EvaluationFixture({ program: scriptedRunner(honest), clock: systemClock });
    const summary = await fixture.evaluate(suiteWith({ stop: { rule: 'certified', halfWidth: 0.05 }, budget: { episodes: 100 } }));
    expect(summary).toMatchObject({ ended: 'episodes', partial: true, official: { episodes: 100, endedBy: 'episodes' } });
  });

  it('ends with the budget of seconds', async () => {
    const clock = new ManualClock();
    const program = scriptedRunner((episode) => (episode.index < 20 ? honest(episode) : new Promise(() => undefined)));
    await using fixture = new EvaluationFixture({ program, clock });
    const evaluation = fixture.evaluate(suiteWith({ budget: { seconds: 30 }, episode: { seconds: 3600 } }));
    await clock.advance(30_000);
    expect(await evaluation).toMatchObject({ ended: 'seconds', partial: true, official: { episodes: 20 } });
  });

  it('ends early when its caller aborts, with the folded episodes', async () => {
    const clock = new ManualClock();
    const program = scriptedRunner((episode) => (episode.index < 20 ? honest(episode) : new Promise(() => undefined)));
    await using fixture = new EvaluationFixture({ program, clock });
    const caller = new AbortController();
    const evaluation = fixture.evaluate(suiteWith(), { signal: caller.signal });
    await clock.advance(100);
    caller.abort();
    expect(await evaluation).toMatchObject({ ended: 'interrupted', partial: true, official: { episodes: 20 } });
  });

  it('reports its progress while it runs, also before the first outcome', async () => {
    const clock = new ManualClock();
    const gate = Promise.withResolvers<void>();
    const program = scriptedRunner(async (episode) => {
      await gate.promise;
      return honest(episode);
    });
    await using fixture = new EvaluationFixture({ program, clock });
    const seen: number[] = [];
    const evaluation = fixture.evaluate(suiteWith(), { onProgress: ({ statistics }) => seen.push(statistics.episodes) });
    await clock.advance(350);
    expect(seen).toEqual([0, 0, 0]);
    gate.resolve();
    await evaluation;
    expect(seen.at(-1)).toBe(200);
  });
});

describe('several checkpoints, one after the other', () => {
  const carriesCode = (name: string): StoredCheckpoint => ({
    ...PAPER_CHECKPOINT,
    kind: 'directory',
    digest: digestBytes(name),
    files: [{ path: 'policy.py', size: 1, digest: digestBytes(name), hostPath: import.meta.filename }],
  });

  it('that are data share the warm sandboxes', async () => {
    await using fixture = new EvaluationFixture({ program: scriptedRunner(honest), clock: systemClock, sandboxes: 1 });
    await fixture.evaluate(suiteWith());
    await fixture.evaluate(suiteWith(), {}, { ...PAPER_CHECKPOINT, digest: digestBytes('other paper') });
    expect(fixture.sandboxes).toHaveLength(1);
  });

  it('that contain code never share a sandbox', async () => {
    await using fixture = new EvaluationFixture({ program: scriptedRunner(honest), clock: systemClock, sandboxes: 1 });
    await fixture.evaluate(suiteWith(), {}, carriesCode('first'));
    await fixture.evaluate(suiteWith(), {}, carriesCode('first'));
    expect(fixture.sandboxes).toHaveLength(1);
    await fixture.evaluate(suiteWith(), {}, carriesCode('second'));
    expect(fixture.sandboxes).toHaveLength(2);
    await fixture.evaluate(suiteWith());
    expect(fixture.sandboxes).toHaveLength(3);
  });
});

describe('failures of an episode are scored, never retried', () => {
  it('each under its own cause', async () => {
    const program = scriptedRunner((episode) => {
      if (episode.index === 1) return { failed: 'policy-crash', detail: 'boom' };
      if (episode.index === 2) return { return: 7 };
      if (episode.index === 3) return { exit: 3 };
      if (episode.index === 4) return { raw: 'garbage\n' };
      return { return: 1 };
    });
    await using fixture = new EvaluationFixture({ program, clock: systemClock });
    const summary = await fixture.evaluate(suiteWith({ failureScores: { timeout: 0, crash: 0.5 } }));
    expect(summary.official.failures).toMatchObject({
      'policy-crash': 1,
      'out-of-bounds': 1,
      'environment-crash': 1,
      'protocol-violation': 1,
    });
    expect(summary.official.mean).toBeCloseTo((196 + 4 * 0.5) / 200, 12);
    expect(summary.run.retried).toBe(0);
  });

  it('a hang as a timeout, with the score for timeouts', async () => {
    const clock = new ManualClock();
    const program = scriptedRunner((episode) => (episode.index === 5 ? new Promise(() => undefined) : { return: 1 }));
    await using fixture = new EvaluationFixture({ program, clock, evaluation: { stragglerMilliseconds: 1e9 } });
    const evaluation = fixture.evaluate(suiteWith({ episode: { seconds: 10 } }));
    await clock.advance(11_000);
    const summary = await evaluation;
    expect(summary.official.failures.timeout).toBe(1);
    expect(summary.official.mean).toBeCloseTo(199 / 200, 12);
  });
});

describe('failures of the infrastructure are retried, never scored', () => {
  it('a sandbox that is destroyed costs only time', async () => {
    const calm = new EvaluationFixture({ program: scriptedRunner(honest), clock: systemClock });
    const undisturbed = await calm.evaluate(suiteWith());
    await calm[Symbol.asyncDispose]();

    const killed = new Set<number>();
    const program = scriptedRunner((episode) => {
      if (episode.index % 17 !== 0 || killed.has(episode.index)) return honest(episode);
      killed.add(episode.index);
      return { exit: 137 };
    });
    await using fixture = new EvaluationFixture({ program, clock: systemClock });
    const summary = await fixture.evaluate(suiteWith());
    expect(JSON.stringify(summary.official)).toBe(JSON.stringify(undisturbed.official));
    expect(summary.run.retried).toBe(12);
  });

  it('an episode that kills every runner which plays it is a crash', async () => {
    const program = scriptedRunner((episode) => (episode.index === 9 ? { exit: 137 } : { return: 1 }));
    await using fixture = new EvaluationFixture({ program, clock: systemClock });
    const summary = await fixture.evaluate(suiteWith());
    expect(summary.official).toMatchObject({ unresolved: 0, failures: { 'environment-crash': 1 } });
    expect(summary.run.retried).toBe(2);
  });

  it('a Muster that stood still for longer than its leases loses sandboxes, not the evaluation', async () => {
    const clock = new ManualClock();
    const gate = Promise.withResolvers<void>();
    const program = scriptedRunner(async (episode) => {
      if (episode.index === 100) await gate.promise;
      return honest(episode);
    });
    await using fixture = new EvaluationFixture({ program, clock, pool: { leaseSeconds: 30 } });
    const evaluation = fixture.evaluate(suiteWith({ episode: { seconds: 3600 } }));
    await clock.advance(1000);
    clock.skip(120_000);
    gate.resolve();
    await clock.advance(5000);
    expect(await evaluation).toMatchObject({ ended: 'rule', official: { episodes: 200, unresolved: 0 } });
  });

  it('a runner that does not finish loading is replaced', async () => {
    const clock = new ManualClock();
    let loads = 0;
    const healthy = scriptedRunner(honest);
    const program: Program = async (io) => {
      loads += 1;
      if (loads > 1) return healthy(io);
      io.stdout.write('{"type":"ready","protocol":1,"runner":"x"}\n');
      return new Promise(() => undefined);
    };
    await using fixture = new EvaluationFixture({ program, clock, sandboxes: 1 });
    const evaluation = fixture.evaluate(suiteWith());
    await clock.advance(61_000);
    expect(await evaluation).toMatchObject({ ended: 'rule', run: { pool: { created: 2 } } });
  });

  it('a refusal of one runner does not affect other runners', async () => {
    const healthy = scriptedRunner(honest);
    let runners = 0;
    const program: Program = async (io) => {
      runners += 1;
      if (runners !== 2) return healthy(io);
      io.stdout.write('{"type":"ready","protocol":1,"runner":"x"}\n');
      io.stdin.once('data', (line: Buffer) => {
        const { load } = JSON.parse(line.toString());
        io.stdout.write(`{"type":"refused","load":${load},"part":"policy","message":"out of memory"}\n`);
      });
      return new Promise(() => undefined);
    };
    await using fixture = new EvaluationFixture({ program, clock: systemClock, sandboxes: 1, pool: { episodesPerSandbox: 50 } });
    expect(await fixture.evaluate(suiteWith())).toMatchObject({ ended: 'rule', official: { episodes: 200 } });
  });

  it('a listener that throws ends the evaluation, not the process', async () => {
    const clock = new ManualClock();
    const program = scriptedRunner(() => new Promise(() => undefined));
    await using fixture = new EvaluationFixture({ program, clock });
    const onProgress = (): never => {
      throw new TypeError('no such widget');
    };
    const evaluation = fixture.evaluate(suiteWith(), { onProgress });
    const outcome = evaluation.catch((error: unknown) => error);
    await clock.advance(200);
    expect(await outcome).toMatchObject({ message: 'no such widget' });
  });

  it('a permanent failure ends the evaluation with its error and the partial result', async () => {
    let sessions = 0;
    const program = scriptedRunner((episode) => honest(episode));
    await using fixture = new EvaluationFixture({
      program: async (io) => ((sessions += 1) > 2 ? 1 : program({ ...io })),
      clock: systemClock,
      sandboxes: 2,
      pool: { episodesPerSandbox: 10, maxCreationFailures: 1 },
      evaluation: { infrastructureRetries: 0 },
    });
    const error = await fixture.evaluate(suiteWith()).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(EvaluationFailedError);
    expect(error).toMatchObject({ kind: 'infrastructure', partial: { ended: 'failed', partial: true, official: { episodes: 20 } } });
  });

  it('results that cannot be stored end the evaluation at once', async () => {
    await using fixture = new EvaluationFixture({ program: scriptedRunner(honest), clock: systemClock });
    const episodes: EpisodeSink = {
      write(record) {
        if (record.index === 50) throw new InfrastructureError('out.write', 'no space left on device');
        return undefined;
      },
    };
    await expect(fixture.evaluate(suiteWith(), { episodes })).rejects.toThrow(/no space left on device/);
  });
});

describe('a straggler', () => {
  async function withStraggler(second: number): Promise<Awaited<ReturnType<EvaluationFixture['evaluate']>>> {
    const clock = new ManualClock();
    let plays = 0;
    const program = scriptedRunner(async (episode) => {
      if (episode.index !== 150) return honest(episode);
      plays += 1;
      if (plays === 1) await new Promise(() => undefined);
      return { return: second };
    });
    await using fixture = new EvaluationFixture({ program, clock });
    const evaluation = fixture.evaluate(suiteWith({ episode: { seconds: 3600 } }));
    await clock.advance(60_000);
    return await evaluation;
  }

  it('is played a second time on a free sandbox, and the first result wins', async () => {
    const summary = await withStraggler(1);
    expect(summary).toMatchObject({ ended: 'rule', official: { episodes: 200 }, run: { nonDeterministic: [] } });
    expect(summary.run.duplicated).toBeGreaterThanOrEqual(1);
  });

  it('whose two results differ is named in the summary', async () => {
    const clock = new ManualClock();
    const late = Promise.withResolvers<void>();
    let plays = 0;
    const program = scriptedRunner(async (episode) => {
      if (episode.index === 199) await late.promise;
      if (episode.index !== 150) return honest(episode);
      plays += 1;
      if (plays > 1) return { return: 0 };
      await new Promise((resolve) => clock.after(50_000, () => resolve(undefined)));
      return { return: 1 };
    });
    await using fixture = new EvaluationFixture({ program, clock, evaluation: { stragglerMilliseconds: 10_000 } });
    const evaluation = fixture.evaluate(suiteWith({ episode: { seconds: 3600 } }));
    await clock.advance(70_000);
    late.resolve();
    const summary = await evaluation;
    expect(summary.run.nonDeterministic).toEqual([150]);
    expect(summary.warnings.join()).toMatch(/not deterministic/);
  });
});
