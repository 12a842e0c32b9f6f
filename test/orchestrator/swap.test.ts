import { describe, expect, it } from 'vitest';
import { digestBytes } from '../../src/kernel/canonical-json.ts';
import { sleep } from '../../src/kernel/clock.ts';
import { evaluate, type EvaluateOptions } from '../../src/orchestrator/evaluate.ts';
import type { EpisodeRecord } from '../../src/orchestrator/arm/episode-record.ts';
import type { SuiteDefinition } from '../../src/orchestrator/suite/suite-definition.ts';
import type { Summary } from '../../src/orchestrator/results/summary.ts';
import type { StoredCheckpoint } from '../../src/policy-distribution/stored-checkpoint.ts';
import { Slots } from '../../src/service/playing/slots.ts';
import { EvaluationFixture, suiteWith } from '../support/evaluation-fixture.ts';
import { scriptedRunner, type PlayEpisode, type ScriptedRunnerOptions } from '../support/in-memory-runner.ts';
import { ManualClock, settle } from '../support/manual-clock.ts';

const LONG = 60_000;

function checkpoint(name: string): StoredCheckpoint {
  return { digest: digestBytes(name), kind: 'file', files: [], labels: {} };
}

/** A training run that is faster than its evaluations: checkpoints come in a row, and each is evaluated after the one before it. */
class Row implements AsyncDisposable {
  readonly clock = new ManualClock();
  readonly fixture: EvaluationFixture;
  readonly #places: Slots;
  #before: Promise<unknown> = Promise.resolve();
  #asked = 0;

  constructor(sandboxes: number, play: PlayEpisode, options: ScriptedRunnerOptions = {}) {
    this.fixture = new EvaluationFixture({ program: scriptedRunner(play, options), clock: this.clock, sandboxes });
    this.#places = new Slots(sandboxes, this.clock);
  }

  next(of: StoredCheckpoint, suite: SuiteDefinition, options: EvaluateOptions = {}): Promise<Summary> {
    const share = this.#places.join({ principal: '', priority: -(this.#asked += 1) });
    const request = { suite, suiteFiles: undefined, checkpoint: of, checkpointUri: 'row' };
    const ended = evaluate({ ...this.fixture.context, share }, request, { after: this.#before, ...options }).finally(() =>
      share[Symbol.dispose](),
    );
    ended.catch(() => undefined);
    this.#before = ended;
    return ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.fixture[Symbol.asyncDispose]();
  }
}

describe('evaluations in a row', () => {
  it('of many checkpoints on the same sandboxes play every episode with their own checkpoint', async () => {
    const names = Array.from({ length: 40 }, (_, i) => `step-${i}`);
    const identities = new Map(names.map((name, i) => [checkpoint(name).digest.toString(), i / names.length]));
    // Some episodes take many turns: there always is a tail in which the next checkpoint is loaded.
    const play: PlayEpisode = async ({ index, checkpoint: loaded }) => {
      for (let turn = 0; turn < (index % 7 === 0 ? 20 : 1); turn += 1) await settle();
      return { return: identities.get(loaded) ?? -1 };
    };
    await using row = new Row(8, play, { claims: (loaded) => loaded });
    const kept = names.map((): EpisodeRecord[] => []);
    const answers = names.map((name, i) => {
      const sink = { write: (record: EpisodeRecord) => void kept[i]?.push(record) };
      return row.next(checkpoint(name), suiteWith({ stop: { rule: 'fixed', episodes: 60 } }), { episodes: sink });
    });
    const summaries = await row.clock.advanceFor(Promise.all(answers), LONG);
    for (const [i, { official }] of summaries.entries()) {
      const identity = i / names.length;
      expect(official).toMatchObject({ episodes: 60, min: identity, max: identity, failures: {} });
      expect(official.checkpoint.digest).toBe(checkpoint(names[i] ?? '').digest);
      expect(new Set(kept[i]?.map((record) => record.checkpoint))).toEqual(new Set([official.checkpoint.digest]));
    }
    // No sandbox was started anew for a new checkpoint.
    expect(row.fixture.poolState().totals).toMatchObject({ created: 8, destroyed: 0, died: 0 });
  });

  it('load the next checkpoint in idle sandboxes, and play none of its episodes before its turn', async () => {
    const gate = Promise.withResolvers<void>();
    const log: string[] = [];
    const play: PlayEpisode = async ({ index, checkpoint: loaded }) => {
      if (loaded === checkpoint('present').digest && index === 0) await gate.promise;
      log.push(loaded);
      return { return: 0.5 };
    };
    const loads: string[] = [];
    const refusal = (_form: string, loaded: string): undefined => void loads.push(loaded);
    await using row = new Row(4, play, { refusal });
    const suite = suiteWith({ stop: { rule: 'fixed', episodes: 40 } });
    const [present, next] = [row.next(checkpoint('present'), suite), row.next(checkpoint('next'), suite)];
    await row.clock.advanceUntil(() => loads.filter((loaded) => loaded === checkpoint('next').digest).length === 2, LONG);
    await row.clock.advance(100);
    // One plays the last episode, and one looks after it: should its sandbox be lost, it is played there.
    expect(loads.filter((loaded) => loaded === checkpoint('next').digest)).toHaveLength(2);
    expect(new Set(log)).toEqual(new Set([checkpoint('present').digest]));
    gate.resolve();
    const summaries = await row.clock.advanceFor(Promise.all([present, next]), LONG);
    expect(summaries.map(({ official }) => official.episodes)).toEqual([40, 40]);
    expect(log.lastIndexOf(checkpoint('present').digest)).toBeLessThan(log.indexOf(checkpoint('next').digest));
    expect(row.fixture.poolState().totals.created).toBe(4);
  });

  it('continue when the next checkpoint is refused while the present one is played, whose result does not change', async () => {
    const suite = suiteWith({ stop: { rule: 'fixed', episodes: 100 } });
    const play: PlayEpisode = async ({ environmentSeed, index }) => {
      for (let turn = 0; turn < (index === 3 ? 500 : 1); turn += 1) await settle();
      return { return: (environmentSeed % 1000) / 999 };
    };
    const refusal = (_form: string, loaded: string): string | undefined =>
      loaded === checkpoint('bad').digest ? 'it does not fit' : undefined;
    await using alone = new Row(4, play);
    const undisturbed = await alone.clock.advanceFor(alone.next(checkpoint('present'), suite), LONG);
    await using row = new Row(4, play, { refusal });
    let isOver = false;
    const present = row.next(checkpoint('present'), suite).finally(() => (isOver = true));
    const wasOver = row.next(checkpoint('bad'), suite).then(
      () => 'played',
      (error: Error) => `${isOver ? 'afterwards' : 'meanwhile'}: ${error.message}`,
    );
    const next = row.next(checkpoint('good'), suite);
    expect((await row.clock.advanceFor(present, LONG)).official).toEqual(undisturbed.official);
    expect(await wasOver).toBe('meanwhile: the environment was refused by the runner: it does not fit');
    expect((await row.clock.advanceFor(next, LONG)).official.episodes).toBe(100);
  });

  it('get their turn also when the one before was requested later', async () => {
    const suite = suiteWith({ stop: { rule: 'fixed', episodes: 40 } });
    await using row = new Row(4, () => ({ return: 0.5 }));
    const turn = Promise.withResolvers<unknown>();
    const last = row.next(checkpoint('last'), suite, { after: turn.promise });
    await row.clock.advance(100);
    const first = row.next(checkpoint('first'), suite, { after: Promise.resolve() });
    turn.resolve(first);
    const summaries = await row.clock.advanceFor(Promise.all([first, last]), LONG);
    expect(summaries.map(({ official }) => official.episodes)).toEqual([40, 40]);
  });

  it('do not count waiting time for the next one', async () => {
    const suite = suiteWith({ stop: { rule: 'fixed', episodes: 8 }, budget: { seconds: 5 } });
    const slow = checkpoint('slow').digest;
    await using row: Row = new Row(4, async ({ checkpoint: loaded }) => {
      if (loaded === slow) await sleep(row.clock, 1500, new AbortController().signal);
      return { return: 0.5 };
    });
    const [first, second] = [row.next(checkpoint('slow'), suite), row.next(checkpoint('quick'), suite)];
    const summaries = await row.clock.advanceFor(Promise.all([first, second]), LONG);
    expect(summaries.map(({ ended }) => ended)).toEqual(['rule', 'rule']);
    expect(summaries[0]?.run.seconds).toBeGreaterThanOrEqual(3);
    expect(summaries[1]?.run.seconds).toBeLessThan(1);
  });

  it('leave nothing of one that is cancelled before its turn', async () => {
    const gate = Promise.withResolvers<void>();
    await using row = new Row(2, async () => {
      await gate.promise;
      return { return: 0.5 };
    });
    const suite = suiteWith({ stop: { rule: 'fixed', episodes: 2 } });
    const present = row.next(checkpoint('present'), suite);
    const enough = new AbortController();
    const next = row.next(checkpoint('next'), suite, { signal: enough.signal });
    await row.clock.advance(100);
    enough.abort(new DOMException('a newer one has come', 'AbortError'));
    await expect(row.clock.advanceFor(next, LONG)).rejects.toThrow('a newer one has come');
    gate.resolve();
    expect((await row.clock.advanceFor(present, LONG)).official.episodes).toBe(2);
    expect(row.fixture.poolState()).toMatchObject({ waiting: 0, sandboxes: { leased: 0 } });
  });
});

describe('a runner that is about to play another checkpoint than the one it has loaded', () => {
  it('is replaced before an episode counts', async () => {
    let asked = 0;
    const claims = (loaded: string): string => (++asked === 1 ? digestBytes('another') : loaded);
    await using row = new Row(1, () => ({ return: 0.5 }), { claims });
    const suite = suiteWith({ stop: { rule: 'fixed', episodes: 4 } });
    const { official, run } = await row.clock.advanceFor(row.next(checkpoint('asked for'), suite), LONG);
    expect(official).toMatchObject({ episodes: 4, failures: {} });
    expect(run.pool).toMatchObject({ created: 2, died: 1 });
  });
});
