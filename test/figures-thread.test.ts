import { describe, expect, it } from 'vitest';
import { distributionFigures, type DistributionQuestion } from '../src/aggregation/distribution-figures.ts';
import { FiguresThread } from '../src/figures-thread.ts';
import { systemClock } from '../src/kernel/clock.ts';
import { seedStreams } from '../src/kernel/seeds.ts';

const TASKS = 3;

function question(count: number, changes: Partial<DistributionQuestion> = {}): DistributionQuestion {
  const streams = seedStreams(1);
  const values = Float64Array.from({ length: count }, (_, i) => streams.seeds(i).environment / 1000);
  const tasks = Uint16Array.from({ length: count }, (_, i) => streams.seeds(i).policy % TASKS);
  return { values, tasks, confidence: 0.95, withBca: true, weights: undefined, ...changes };
}

describe('a thread for figures', () => {
  it.each([
    ['a few values, which are worked out here', question(40)],
    ['values of tasks by weight', question(900)],
    ['values of tasks that came up otherwise', question(900, { weights: [0.2, 0.3, 0.5], withBca: false })],
  ])('comes to the same, byte for byte: %s', async (_what, asked) => {
    await using thread = new FiguresThread(systemClock);
    const here = distributionFigures({ ...asked, values: asked.values.slice(), tasks: asked.tasks.slice() });
    expect(JSON.stringify(await thread.workOut(asked))).toBe(JSON.stringify(here));
  });

  it('answers several who ask at once, each their own', async () => {
    await using thread = new FiguresThread(systemClock);
    const counts = [700, 800, 900];
    const figures = await Promise.all(counts.map((count) => thread.workOut(question(count))));
    expect(figures.map(({ quantiles }) => quantiles?.of)).toEqual(counts);
  });

  it('that is closed tells whoever waits', async () => {
    const thread = new FiguresThread(systemClock);
    const asking = thread.workOut(question(900));
    const [refused] = await Promise.allSettled([asking, thread[Symbol.asyncDispose]()]);
    expect(refused).toMatchObject({ status: 'rejected', reason: { code: 'figures.failed', kind: 'infrastructure' } });
  });
});
