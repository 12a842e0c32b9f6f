import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { digestBytes } from '../../src/kernel/canonical-json.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { InputError } from '../../src/kernel/errors.ts';
import { parseEpisodeIndex } from '../../src/kernel/ids.ts';
import { LAST_WORDS } from '../../src/kernel/outcome.ts';
import { compare, ComparisonAllFailedError, type ComparisonRequest } from '../../src/orchestrator/compare.ts';
import { EvaluationAllFailedError, type EvaluateOptions } from '../../src/orchestrator/evaluate.ts';
import type { SuiteDefinition } from '../../src/orchestrator/suite/suite-definition.ts';
import { summarySchema, type Summary } from '../../src/orchestrator/results/summary.ts';
import { EvaluationFixture, PAPER_CHECKPOINT, suiteWith } from '../support/evaluation-fixture.ts';
import { scriptedRunner, type PlayEpisode } from '../support/in-memory-runner.ts';
import { MapJournal } from '../support/map-journal.ts';

const FIRST = 16;
/** The error of one place in the code: its message names the episode, and its address is another each time. */
const crashed = (index: number): string =>
  `KeyError: 'order ${index}'\n  File "shop.py", line 12, in step\n    <Shop at 0x7f${index + 10}>`;
const crash: PlayEpisode = ({ index }) => ({ failed: 'environment-crash', detail: crashed(index) });

interface Played {
  readonly error: unknown;
  readonly summary: Summary;
}

/** An evaluation's summary, with the error that it came with if it did. */
async function played(
  play: PlayEpisode,
  { suite = suiteWith(), sandboxes = 4, ...options }: EvaluateOptions & { suite?: SuiteDefinition; sandboxes?: number } = {},
): Promise<Played> {
  await using fixture = new EvaluationFixture({ program: scriptedRunner(play), clock: systemClock, sandboxes });
  try {
    return { error: undefined, summary: await fixture.evaluate(suite, options) };
  } catch (error) {
    if (error instanceof EvaluationAllFailedError) return { error, summary: error.partial };
    throw error;
  }
}

/** Warnings but for that of what in-memory sandboxes do not limit. */
const ofEpisodes = ({ warnings }: Summary): readonly string[] => warnings.filter((warning) => !warning.startsWith('not enforced'));

const SCORED = { failures: 'scored', failureScores: { timeout: 0, crash: 0.25 } };

describe('an evaluation whose first episodes all fail with one error', () => {
  it('ends there with that error, whatever the number of sandboxes, the order of arrival and the stored episodes', async () => {
    const { summary: plain } = await played(crash, { sandboxes: 1 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 12 }), fc.uniqueArray(fc.nat(FIRST + 20)), async (sandboxes, known) => {
        const stored = known.map((index) => ({
          index: parseEpisodeIndex(index),
          task: 0,
          outcome: { kind: 'failed', cause: 'environment-crash', detail: crashed(index) } as const,
          seconds: 0.001,
        }));
        const late: PlayEpisode = async (episode) => {
          if (episode.index % 3 === 0) await new Promise(setImmediate);
          return crash(episode);
        };
        const { error, summary } = await played(late, { sandboxes, journal: new MapJournal(stored) });
        expect(error).toBeInstanceOf(InputError);
        expect(error).toMatchObject({ code: 'evaluation.all-failed', message: expect.stringContaining(crashed(0)) });
        expect(summary.official).toEqual(plain.official);
        expect(summary.run.errors).toEqual(plain.run.errors);
      }),
      { numRuns: 20 },
    );
    expect(summarySchema.parse(plain)).toEqual(plain);
    expect(ofEpisodes(plain)).toEqual([]);
    expect(plain).toMatchObject({
      ended: 'failures',
      partial: true,
      official: { episodes: FIRST, endedBy: 'failures', failedShare: 1 },
      run: {
        errors: [{ checkpoint: PAPER_CHECKPOINT.digest, cause: 'environment-crash', episodes: FIRST, firstIndex: 0, detail: crashed(0) }],
      },
    });
  });

  it('does so where processes end alike, whatever each has printed before', async () => {
    const detail = (index: number): string => `the runner ended with code 3${LAST_WORDS}step ${'x'.repeat(index)}\nstep`;
    expect(await played(({ index }) => ({ failed: 'environment-crash', detail: detail(index) }))).toMatchObject({
      error: { code: 'evaluation.all-failed', message: expect.stringContaining(detail(0).split('\n')[0] ?? '') },
      summary: { official: { episodes: FIRST }, run: { errors: [{ episodes: FIRST, firstIndex: 0, detail: detail(0) }] } },
    });
  });

  it('does so for a return that is no number, and for one outside of the bounds', async () => {
    for (const [wrong, cause] of [
      [Number.NaN, 'invalid-return'],
      [500, 'out-of-bounds'],
    ] as const) {
      const play: PlayEpisode = ({ index }) =>
        Number.isNaN(wrong) ? { failed: cause, detail: 'the return is nan' } : { return: wrong + index };
      expect(await played(play)).toMatchObject({
        error: { code: 'evaluation.all-failed' },
        summary: { official: { failures: { [cause]: FIRST } } },
      });
    }
  });

  it('does so after five that all reach their time limit, and not if one of the five does not', async () => {
    const hang: PlayEpisode = ({ index }) => ({ failed: 'timeout', detail: `not finished within ${index} s` });
    const after = async (play: PlayEpisode): Promise<number> => (await played(play)).summary.official.episodes;
    expect(await after(hang)).toBe(5);
    expect(await after((episode) => (episode.index === 4 ? { return: 1 } : hang(episode)))).toBe(200);
    expect(await after((episode) => (episode.index === 4 ? crash(episode) : hang(episode)))).toBe(200);
  });

  it('continues if the suite accepts failures, with its declared score', async () => {
    const { error, summary } = await played(crash, { suite: suiteWith(SCORED) });
    expect(error).toBeUndefined();
    expect(summary).toMatchObject({ ended: 'rule', partial: false, official: { episodes: 200, mean: 0.25, failedShare: 1 } });
    expect(ofEpisodes(summary)).toEqual([expect.stringMatching(/^100 % of the episodes failed \(200 of 200\)/)]);
  });
});

describe('an evaluation with failed episodes', () => {
  it('continues when one of the first succeeds; a share above 5 % and an undeclared score give a warning', async () => {
    const { error, summary } = await played((episode) => (episode.index === FIRST - 1 ? { return: 1 } : crash(episode)));
    expect(error).toBeUndefined();
    expect(summary).toMatchObject({ ended: 'rule', official: { episodes: 200, failedShare: 0.995 } });
    expect(ofEpisodes(summary)).toEqual([
      expect.stringMatching(/^99\.5 % of the episodes failed \(199 of 200\)/),
      'the suite declares no failureScores.crash: a failed one counts as 0, the lower bound of the return (199 of the episodes)',
    ]);
    const { summary: few } = await played((episode) => (episode.index % 20 === 3 ? crash(episode) : { return: 1 }), {
      suite: suiteWith({ failureScores: { crash: 0 } }),
    });
    expect(ofEpisodes(few)).toEqual([]);
    expect(few).toMatchObject({ official: { failedShare: 0.05 }, run: { errors: [{ episodes: 10, firstIndex: 3 }] } });
  });

  it('has no answer when every episode failed, however few there are and whatever their errors', async () => {
    const words = 'abcdefg';
    const play: PlayEpisode = ({ index }) => ({ failed: 'policy-crash', detail: `ValueError: ${words[index]}` });
    const { error, summary } = await played(play, { suite: suiteWith({ stop: { rule: 'fixed', episodes: 7 } }) });
    expect(error).toMatchObject({
      message: expect.stringMatching(/all 7 episodes that were played failed, with several errors.*\nValueError: a\n/),
    });
    expect(summary).toMatchObject({ ended: 'failures', partial: true, official: { endedBy: 'rule', episodes: 7 } });
  });

  it('has no answer when it is interrupted before an episode succeeded', async () => {
    const stop = new AbortController();
    const play: PlayEpisode = (episode) => {
      if (episode.index === 9) stop.abort(new DOMException('enough', 'AbortError'));
      return crash(episode);
    };
    const { summary } = await played(play, { sandboxes: 1, signal: stop.signal });
    expect(summary).toMatchObject({ ended: 'interrupted', partial: true, allFailed: true, official: { failedShare: 1 } });
    expect(ofEpisodes(summary)).toEqual([expect.stringContaining('interrupted')]);
  });

  it('reports the first distinct errors by index, each shortened, and counts the rest', async () => {
    const long = `RuntimeError: ${'x'.repeat(1000)}${'y'.repeat(4000)}the end`;
    const kinds = Array.from('abcdefghij', (letter) => `RuntimeError: ${letter}`);
    const play: PlayEpisode = ({ index }) => {
      if (index % 2 === 0) return { return: 1 };
      return { failed: 'environment-crash', detail: index === 1 ? long : (kinds[index % 10] ?? '') };
    };
    const { summary } = await played(play, { sandboxes: 7 });
    const errors = summary.run.errors ?? [];
    expect(errors.map(({ firstIndex, episodes }) => [firstIndex, episodes])).toEqual([
      [1, 1],
      ...[3, 5, 7, 9].map((index) => [index, 20]),
      [11, 19],
    ]);
    expect(errors[0]?.detail).toMatch(/^RuntimeError: x{1000}y+\n…\ny+the end$/);
    expect(errors[0]?.detail.length).toBeLessThan(2000);
    const { summary: many } = await played(({ index }) =>
      index % 2 === 0 ? { return: 1 } : { failed: 'environment-crash', detail: `RuntimeError: ${'z'.repeat(index)}` },
    );
    expect(many.run).toMatchObject({ errors: Array.from({ length: 8 }, (_, i) => ({ firstIndex: 2 * i + 1 })), otherErrors: 92 });
  });
});

describe('a comparison', () => {
  const OLD = { ...PAPER_CHECKPOINT, digest: digestBytes('old') };
  const BROKEN = { ...PAPER_CHECKPOINT, digest: digestBytes('broken') };
  const request = (baseline: ComparisonRequest['baseline']): ComparisonRequest => ({
    suite: suiteWith(),
    suiteFiles: undefined,
    baseline,
    baselineUri: 'old.onnx',
    candidates: [{ checkpoint: BROKEN, uri: 'broken.onnx' }],
    terms: {},
  });

  async function refused(play: PlayEpisode, baseline: ComparisonRequest['baseline']): Promise<ComparisonAllFailedError> {
    await using fixture = new EvaluationFixture({ program: scriptedRunner(play), clock: systemClock });
    const error: unknown = await compare(fixture.context, request(baseline)).catch((thrown: unknown) => thrown);
    if (error instanceof ComparisonAllFailedError) return error;
    throw new Error('the comparison was not refused', { cause: error });
  }

  it('ends with the error of the checkpoint whose first episodes all fail, and names it', async () => {
    // As good as a failed episode counts, so that no verdict comes first.
    const play: PlayEpisode = (episode) => (episode.checkpoint === BROKEN.digest ? crash(episode) : { return: 0 });
    const error = await refused(play, { kind: 'played', checkpoint: OLD });
    expect(error.message).toContain('episodes of broken.onnx that were played failed');
    expect(error.message).toContain(crashed(0));
    expect(error.partial).toMatchObject({
      ended: 'failures',
      official: { endedBy: 'failures', pairs: FIRST },
      run: { errors: [{ checkpoint: BROKEN.digest, episodes: FIRST }] },
    });
  });

  it('does so for a recorded baseline', async () => {
    const outcome = (index: number) => ({ kind: 'failed', cause: 'environment-crash', detail: crashed(index) }) as const;
    const outcomes = Array.from({ length: 40 }, (_, index) => ({ task: 0, outcome: outcome(index) }));
    const error = await refused(() => ({ return: 0.5 }), { kind: 'recorded', digest: digestBytes('old'), outcomes });
    expect(error.message).toContain('episodes of old.onnx that were played failed');
    expect(error.message).toContain(crashed(0));
  });
});
