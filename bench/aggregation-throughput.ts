import { ConfidenceSequence } from '../src/aggregation/stopping/certified.ts';
import { FixedRule } from '../src/aggregation/stopping/fixed-rule.ts';
import { Moments } from '../src/aggregation/intervals/moments.ts';
import { PrefixFold } from '../src/aggregation/prefix-fold.ts';
import { systemClock } from '../src/kernel/clock.ts';
import { createSeedStreams } from '../src/kernel/seeds.ts';
import type { Benchmark, Check } from './benchmark.ts';
import { ownMemory } from './memory-of.ts';
import { showSpread, spreadOf, type Spread } from './spread.ts';

const GRID = 2000;
/** The grid has 40 points a half-width. */
const HALF_WIDTH = 40 / GRID;
const FIRST = 1000;
const LEAST_MOMENTS = 50e6;
const LEAST_CERTIFIED = 50e3;
/** From here on a fold keeps no further returns, and so has no reason to grow. */
const KEPT = 1_000_000;
const FOLDED = 3 * KEPT;
/** A byte for each further episode would be twenty times as much. */
const MOST_GROWTH_BYTES = 100_000;

const MOMENTS = 'mean and variance, values a second';
const CERTIFIED = 'certified interval, episodes a second';
const MEMORY = 'memory of a fold, bytes';

export const aggregationThroughput: Benchmark = {
  name: 'aggregation',
  summary: 'running moments and the certified confidence sequence by themselves',
  measurements: () => [MOMENTS, CERTIFIED, MEMORY],
  async run({ quick, measured }) {
    const repeats = quick ? 3 : 15;
    const values = draws(quick ? 200_000 : 2_000_000);
    const first = values.subarray(0, FIRST);
    const addAll = (): number => {
      const moments = new Moments();
      for (const value of values) moments.add(value);
      return moments.mean ?? 0;
    };
    const foldFirst = (): number => {
      const sequence = new ConfidenceSequence({ halfWidth: HALF_WIDTH, confidence: 0.95, grid: GRID });
      for (const value of first) sequence.fold(value, value);
      return sequence.low;
    };
    const momentsRate = await measured(MOMENTS, () => spreadOf(repeated(repeats, values.length, addAll)));
    const certifiedRate = await measured(CERTIFIED, () => spreadOf(repeated(repeats, FIRST, foldFirst)));
    const memory = await measured(MEMORY, foldMemory);
    const rows = [
      ['mean and variance (Welford)', showSpread(scaled(momentsRate, 1e-6), 1), 'million values a second'],
      [`certified interval, first ${FIRST} episodes, grid of ${GRID}`, showSpread(certifiedRate, 0), 'episodes a second'],
    ];
    const held = [
      [KEPT, Math.round(memory.kept / 1000)],
      [FOLDED, Math.round(memory.folded / 1000)],
    ];
    return {
      tables: [
        { title: 'Throughput: median and range', columns: ['', 'a second', 'unit'], rows },
        { title: 'Memory that a fold holds', columns: ['episodes folded', 'KB'], rows: held },
      ],
      checks: [
        atLeast('mean and variance, values a second', momentsRate, LEAST_MOMENTS),
        atLeast(`certified interval on a grid of ${GRID}, episodes a second`, certifiedRate, LEAST_CERTIFIED),
        {
          what: `memory of a fold from ${KEPT} to ${FOLDED} episodes, the returns of the first ${KEPT} being kept`,
          target: `grows by no more than ${MOST_GROWTH_BYTES / 1000} KB`,
          measured: `${((memory.folded - memory.kept) / 1000).toFixed(0)} KB`,
          met: memory.folded - memory.kept <= MOST_GROWTH_BYTES,
        },
      ],
      notes: [],
    };
  },
};

/** Seeded draws, uniform in [0, 1). */
function draws(count: number): Float64Array {
  const streams = createSeedStreams(1);
  return Float64Array.from({ length: count }, (_, index) => streams.drawTask(index));
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

function atLeast(what: string, rate: Spread, least: number): Check {
  const shown = (value: number): string => value.toLocaleString('en', { maximumFractionDigits: 0 });
  return { what, target: `at least ${shown(least)}`, measured: shown(rate.median), met: rate.median >= least };
}

function scaled({ median, low, high }: Spread, factor: number): Spread {
  return { median: median * factor, low: low * factor, high: high * factor };
}

/** Bytes held by one fold after so many episodes as returns are kept of, and after all. @throws Error when it did not fold them all. */
function foldMemory(): { readonly kept: number; readonly folded: number } {
  const streams = createSeedStreams(1);
  const bounds = { low: 0, high: 1 };
  const before = heldBytes();
  const fold = new PrefixFold({
    bounds,
    failureScores: { timeout: 0, crash: 0 },
    tasks: [{ name: 'only', weight: 1 }],
    metrics: [],
    rule: new FixedRule(2 * FOLDED, 0.95, bounds),
    windowSize: 1,
  });
  const foldUpTo = (end: number): number => {
    for (let index = fold.folded; index < end; index += 1)
      fold.offer(index, 0, { kind: 'completed', return: streams.drawTask(index), length: 1, metrics: {} });
    return heldBytes() - before;
  };
  const held = { kept: foldUpTo(KEPT), folded: foldUpTo(FOLDED) };
  if (fold.folded !== FOLDED) throw new Error(`the fold has ${fold.folded} of ${FOLDED} episodes`);
  return held;
}

function heldBytes(): number {
  const { heapBytes, externalBytes } = ownMemory();
  return heapBytes + externalBytes;
}
