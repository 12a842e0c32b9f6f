import { describe, expect, it } from 'vitest';
import { computeDistributionFigures, type DistributionQuestion } from '../../src/aggregation/results/distribution-figures.ts';
import { PairedFold } from '../../src/aggregation/comparison/paired-fold.ts';
import { FiguresThread } from '../../src/app/threads/figures-thread.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { createSeedStreams } from '../../src/kernel/seeds.ts';

const TASKS = 3;

function question(count: number, changes: Partial<DistributionQuestion> = {}): DistributionQuestion {
  const streams = createSeedStreams(1);
  const values = Float64Array.from({ length: count }, (_, i) => streams.seeds(i).environment / 1000);
  const tasks = Uint16Array.from({ length: count }, (_, i) => streams.seeds(i).policy % TASKS);
  return { values, tasks, confidence: 0.95, withBca: true, weights: undefined, ...changes };
}

/** A comparison in which nothing is shown. */
function comparisonOf(pairs: number, candidates: number): PairedFold {
  const streams = createSeedStreams(1);
  const names = Array.from({ length: candidates }, (_, at) => `candidate ${at}`);
  const fold = new PairedFold({
    bounds: { low: 0, high: 1 },
    failureScores: { timeout: 0, crash: 0 },
    tasks: TASKS,
    candidates: names,
    confidence: 0.95,
    budgetEpisodes: pairs * (candidates + 1),
    windowSize: 10,
    seed: 7,
  });
  for (let index = 0; index < pairs; index += 1) {
    for (let arm = 0; arm <= candidates; arm += 1) {
      const drawn = streams.seeds(index * (candidates + 1) + arm).environment / 2 ** 32;
      fold.offer(arm, index, index % TASKS, { kind: 'completed', return: drawn, length: 1, metrics: {} });
    }
  }
  return fold;
}

describe('a thread for figures', () => {
  it.each([
    ['a few values, which are worked out here', question(40)],
    ['values of tasks by weight', question(900)],
    ['values of tasks that came up otherwise', question(900, { weights: [0.2, 0.3, 0.5], withBca: false })],
  ])('comes to the same, byte for byte: %s', async (_what, asked) => {
    await using thread = new FiguresThread(systemClock);
    const here = computeDistributionFigures({ ...asked, values: asked.values.slice(), tasks: asked.tasks.slice() });
    expect(JSON.stringify(await thread.workOut(asked))).toBe(JSON.stringify(here));
  });

  it.each([
    ['a few pairs, which are worked out here', 40],
    ['many pairs', 900],
  ])('comes to the same for a candidate of a comparison, byte for byte: %s', async (_what, pairs) => {
    await using thread = new FiguresThread(systemClock);
    const fold = comparisonOf(pairs, 3);
    expect(JSON.stringify(await fold.computeOfficialBy(thread.workOutImprovement))).toBe(JSON.stringify(fold.computeOfficial()));
  });

  it('answers several callers at once, each with its own figures', async () => {
    await using thread = new FiguresThread(systemClock);
    const counts = [700, 800, 900];
    const figures = await Promise.all(counts.map((count) => thread.workOut(question(count))));
    expect(figures.map(({ quantiles }) => quantiles?.of)).toEqual(counts);
  });

  it('that is closed tells its waiters', async () => {
    const thread = new FiguresThread(systemClock);
    const asking = thread.workOut(question(900));
    const [refused] = await Promise.allSettled([asking, thread[Symbol.asyncDispose]()]);
    expect(refused).toMatchObject({ status: 'rejected', reason: { code: 'figures.failed', kind: 'infrastructure' } });
  });
});
