import { describe, expect, it } from 'vitest';
import { systemClock, type Clock } from '../../src/kernel/clock.ts';
import type { Outcome } from '../../src/kernel/outcome.ts';
import { tune, type TuneOptions, type TuningProgress } from '../../src/orchestrator/tuning/tune.ts';
import { tuningSchema, type Tuning } from '../../src/orchestrator/tuning/tuning.ts';
import { TuningTrial } from '../../src/orchestrator/tuning/tuning-trial.ts';
import {
  findFastest,
  MOST_TRIALS,
  listWaysOfPlaying,
  listWaysWithMoreSandboxes,
  type TimedWay,
} from '../../src/orchestrator/tuning/tuning-ways.ts';
import type { Program } from '../support/in-memory-sandbox/program.ts';
import { EvaluationFixture, PAPER_CHECKPOINT, suiteWith } from '../support/evaluation-fixture.ts';
import { scriptedRunner } from '../support/in-memory-runner.ts';
import { ManualClock } from '../support/manual-clock.ts';

const many = { processors: 4, sandboxes: 32, episodes: 1e6 };

describe('ways that are tried', () => {
  it('begin with one episode after the other, and a sandbox for each processor', () => {
    const ways = listWaysOfPlaying(many);
    expect(ways[0]).toEqual({ play: { mode: 'single' }, sandboxes: 4 });
    expect(new Set(ways.map(({ play }) => play.mode))).toEqual(new Set(['single', 'lockstep', 'vector']));
    expect(ways.every(({ sandboxes }) => sandboxes === 4)).toBe(true);
  });

  it('continue with more sandboxes for the two fastest, as many as the pool may have at most', () => {
    const timed = listWaysOfPlaying(many).map((way, position): TimedWay => ({ way, episodesPerSecond: position }));
    const ways = listWaysWithMoreSandboxes(timed, many);
    expect(ways.map(({ sandboxes }) => sandboxes)).toEqual([8, 32, 8, 32]);
    expect(new Set(ways.map(({ play }) => play))).toEqual(new Set(timed.slice(-2).map(({ way }) => way.play)));
    expect(listWaysOfPlaying(many).length + ways.length).toBeLessThanOrEqual(MOST_TRIALS);
    expect(findFastest(timed)).toEqual(timed.at(-1));
  });

  it('are only the first ones if the pool has no more sandboxes than there are processors', () => {
    const few = { ...many, sandboxes: 2 };
    const ways = listWaysOfPlaying(few);
    expect(ways.every(({ sandboxes }) => sandboxes === 2)).toBe(true);
    expect(
      listWaysWithMoreSandboxes(
        ways.map((way) => ({ way, episodesPerSecond: 1 })),
        few,
      ),
    ).toEqual([]);
  });

  it('leave out blocks that an evaluation of the suite would not fill', () => {
    const widths = listWaysOfPlaying({ ...many, episodes: 100 }).map(({ play }) =>
      play.mode === 'single' ? play.mode : [play.mode, play.width],
    );
    expect(widths).toEqual(['single', ['lockstep', 4], ['vector', 16]]);
  });
});

describe('a trial', () => {
  const won: Outcome = { kind: 'completed', return: 1, length: 1, metrics: {} };
  const config = {
    window: 1000,
    rangeMilliseconds: 20,
    stragglerFactor: 3,
    stragglerMilliseconds: 1000,
    maxAttempts: 3,
  };

  function trialOf(clock: ManualClock): TuningTrial {
    const suite = suiteWith({ play: { mode: 'lockstep', width: 2, block: 4 } });
    return new TuningTrial({ suite, suiteFiles: undefined, checkpoint: PAPER_CHECKPOINT, config, sandboxes: 2, clock, milliseconds: 500 });
  }

  it('is timed from the first block of every sandbox, until it has enough time and episodes', async () => {
    const clock = new ManualClock();
    const trial = trialOf(clock);
    let index = 0;
    const block = (): void => {
      for (let end = index + 4; index < end; index += 1) trial.offer(index, 0, won);
    };
    await clock.advance(7000);
    block();
    await clock.advance(90);
    block();
    expect(trial.episodesPerSecond).toBeUndefined();
    // Two blocks each tenth of a second: 80 episodes a second.
    for (let tenth = 1; tenth <= 3; tenth += 1) {
      await clock.advance(100);
      block();
      block();
    }
    expect(trial.episodesPerSecond).toBe(80);
    expect(trial.over.aborted).toBe(false);
    await clock.advance(200);
    for (const _ of [1, 2, 3, 4]) block();
    expect(trial.over.aborted).toBe(true);
    expect(trial.episodesPerSecond).toBe(80);
  });

  it('continues beyond its time while it has few episodes', async () => {
    const clock = new ManualClock();
    const trial = trialOf(clock);
    for (let index = 0; index < 16; index += 1) {
      await clock.advance(1000);
      trial.offer(index, 0, won);
    }
    expect(trial.over.aborted).toBe(false);
    expect(trial.episodesPerSecond).toBe(1);
  });

  it('counts failed episodes', () => {
    const trial = trialOf(new ManualClock());
    trial.offer(1, 0, { kind: 'failed', cause: 'timeout', detail: '' });
    trial.offer(0, 0, won);
    expect(trial).toMatchObject({ outcomes: 2, failed: 1, folded: 2 });
  });
});

describe('tuning', () => {
  /** Time passes by being looked at, so that a busy machine makes no trial too long. */
  function tickingClock(): Clock {
    let milliseconds = 0;
    return { ...systemClock, now: () => (milliseconds += 0.005), after: (delay, callback) => systemClock.after(1000 * delay, callback) };
  }

  async function tuned(program: Program, { seconds = 0.5, ...options }: Partial<TuneOptions> & { seconds?: number } = {}): Promise<Tuning> {
    await using fixture = new EvaluationFixture({ program, clock: tickingClock(), sandboxes: 3 });
    const request = { suite: suiteWith({ stop: { rule: 'fixed', episodes: 5000 } }), suiteFiles: undefined, checkpoint: PAPER_CHECKPOINT };
    const { signal = new AbortController().signal, ...others } = options;
    return await tune(fixture.context, { ...request, checkpointUri: 'paper', processors: 2, seconds }, { signal, ...others });
  }

  it('times every way, reports each when it begins, and names the fastest', async () => {
    const seen: TuningProgress[] = [];
    const program = scriptedRunner(({ index }) => ({ return: index % 2 }));
    const tuning = await tuned(program, { onProgress: (progress) => seen.push({ ...progress, results: [...progress.results] }) });
    expect(tuningSchema.parse(tuning)).toEqual(tuning);
    expect(seen.map(({ trial, results }) => [trial, results.length])).toEqual(tuning.trials.map((_, before) => [before + 1, before]));
    const rates = tuning.trials.map(({ episodesPerSecond }) => episodesPerSecond ?? 0);
    expect(Math.min(...rates)).toBeGreaterThan(0);
    expect(tuning.trials[0]).toMatchObject({ play: { mode: 'single' }, sandboxes: 2, timesSingle: 1 });
    expect(tuning.fastest?.episodesPerSecond).toBe(Math.max(...rates));
    expect(tuning.trials.filter(({ sandboxes }) => sandboxes === 3)).toHaveLength(2);
  });

  it('says why a way cannot be played, and continues with the others', async () => {
    const refusal = (form: string): string | undefined => (form === 'vector' ? 'it has no vector form' : undefined);
    const { trials, fastest: best } = await tuned(scriptedRunner(() => ({ return: 1 }), { refusal }));
    const refused = trials.filter((trial) => trial.refusal !== null);
    expect(refused.map(({ play }) => play.mode)).toEqual(['vector', 'vector', 'vector']);
    expect(refused[0]).toMatchObject({ episodesPerSecond: null, refusal: expect.stringContaining('it has no vector form') });
    expect(best?.play.mode).not.toBe('vector');
  });

  it('begins no way when its time is over, and says so', async () => {
    const {
      trials,
      warnings,
      fastest: best,
    } = await tuned(
      scriptedRunner(() => ({ return: 1 })),
      { seconds: 0.001 },
    );
    expect(trials).toHaveLength(1);
    expect(best).toMatchObject({ play: { mode: 'single' } });
    expect(warnings).toEqual([expect.stringMatching(/^\d+ further ways were not tried, for want of time/)]);
  });

  it('throws if the suite cannot be played at all', async () => {
    await expect(tuned(scriptedRunner(() => ({ return: 1 }), { refusal: () => 'it does not fit' }))).rejects.toMatchObject({
      kind: 'input',
    });
  });

  it('has no time for a way in which most episodes fail', async () => {
    const { trials, fastest: best, warnings } = await tuned(scriptedRunner(() => ({ failed: 'policy-crash', detail: '' })));
    expect(trials.every(({ episodesPerSecond }) => episodesPerSecond === null)).toBe(true);
    expect(best).toBeNull();
    expect(warnings).toEqual([expect.stringMatching(/^(\d+) of \1 episodes failed/)]);
  });

  it('ends with the reason of its signal', async () => {
    const interrupt = new AbortController();
    const reason = new DOMException('enough', 'AbortError');
    const onProgress = ({ trial }: TuningProgress): void => void (trial === 3 && interrupt.abort(reason));
    await expect(
      tuned(
        scriptedRunner(() => ({ return: 1 })),
        { signal: interrupt.signal, onProgress },
      ),
    ).rejects.toBe(reason);
  });
});
