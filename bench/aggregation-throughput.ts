import { ConfidenceSequence } from '../src/aggregation/certified.ts';
import { Moments } from '../src/aggregation/moments.ts';
import { systemClock } from '../src/kernel/clock.ts';
import { seedStreams } from '../src/kernel/seeds.ts';
import type { Benchmark } from './benchmark.ts';
import { showSpread, spreadOf } from './spread.ts';

const GRID = 2000;
/** The grid has 40 points a half-width. */
const HALF_WIDTH = 40 / GRID;
const FIRST = 1000;

export const aggregationThroughput: Benchmark = {
  name: 'aggregation',
  summary: 'running moments and the certified confidence sequence by themselves',
  async run({ quick }) {
    const repeats = quick ? 3 : 15;
    const values = draws(quick ? 200_000 : 2_000_000);
    const first = values.subarray(0, FIRST);
    const moments = repeated(repeats, values.length, () => {
      const moments = new Moments();
      for (const value of values) moments.add(value);
      return moments.mean ?? 0;
    });
    const certified = repeated(repeats, FIRST, () => {
      const sequence = new ConfidenceSequence({ halfWidth: HALF_WIDTH, confidence: 0.95, grid: GRID });
      for (const value of first) sequence.fold(value, value);
      return sequence.low;
    });
    const rows = [
      ['mean and variance (Welford)', showSpread(spreadOf(moments.map((rate) => rate / 1e6)), 1), 'million values a second'],
      [`certified interval, first ${FIRST} episodes, grid of ${GRID}`, showSpread(spreadOf(certified), 0), 'episodes a second'],
    ];
    return { tables: [{ title: 'Throughput: median and range', columns: ['', 'a second', 'unit'], rows }], checks: [], notes: [] };
  },
};

/** Seeded draws, uniform in [0, 1). */
function draws(count: number): Float64Array {
  const streams = seedStreams(1);
  return Float64Array.from({ length: count }, (_, index) => streams.taskDraw(index));
}

/** Items a second, each time over; the result is used, so that nothing is optimised away. */
function repeated(repeats: number, items: number, work: () => number): readonly number[] {
  const rates: number[] = [];
  let sum = work();
  for (let i = 0; i < repeats; i += 1) {
    const start = systemClock.now();
    sum += work();
    rates.push((1000 * items) / (systemClock.now() - start));
  }
  if (!Number.isFinite(sum)) throw new Error('the results are not finite');
  return rates;
}
