import { quantileSorted } from 'simple-statistics';
import type { Histogram } from './statistics.ts';

const MOST_BINS = 40;
/** Rounding may move a value this far, as a share of the value. */
const ROUNDING = 1e-6;

/**
 * Counts in at most 40 bins of equal width, each from its lower edge to below its upper one. Up to 40 distinct values at whole multiples of a step
 * get a bin each, centred on them. Returns undefined without values, or where floating point cannot hold the edges.
 *
 * @param sorted ascending.
 */
export function computeHistogram(sorted: readonly number[]): Histogram | undefined {
  if (sorted.length === 0) return undefined;
  const edges = computeEdges(sorted);
  return edges.every(Number.isFinite) ? { edges, counts: countBetween(edges, sorted) } : undefined;
}

function computeEdges(sorted: readonly number[]): number[] {
  const distinct = listFewDistinct(sorted);
  if (distinct === undefined) return computeSharedBins(sorted);
  return distinct.length === 1
    ? createOnlyBin(distinct)
    : (computeEvenBins(distinct) ?? computeFinestBins(distinct) ?? computeSharedBins(sorted));
}

/** Returns undefined when there are more than bins. */
function listFewDistinct(sorted: readonly number[]): readonly number[] | undefined {
  const distinct: number[] = [];
  for (const value of sorted) {
    if (value === distinct.at(-1)) continue;
    if (distinct.length === MOST_BINS) return undefined;
    distinct.push(value);
  }
  return distinct;
}

/** Makes a bin of width one, or as much wider as floating point needs to distinguish the edges. */
function createOnlyBin([value = 0]: readonly number[]): number[] {
  const reach = Math.max(0.5, Math.abs(value) * ROUNDING);
  return [value - reach, value + reach];
}

/**
 * Makes a bin for every step when all values are whole multiples of a step. Steps without a value have bins, too. Returns undefined when there would
 * be too many.
 */
function computeEvenBins(distinct: readonly number[]): number[] | undefined {
  const [lowest = 0] = distinct;
  const step = Math.min(...measureGaps(distinct));
  const places = distinct.map((value) => (value - lowest) / step);
  if (!places.every((place) => place < MOST_BINS - 0.5 && Math.abs(place - Math.round(place)) < ROUNDING)) return undefined;
  const edges = spreadBinsAround(lowest, step, Math.round(places.at(-1) ?? 0) + 1);
  // Adjacent floating-point values have nothing between them.
  return edges.length === sortAscending(edges).length ? edges : undefined;
}

/**
 * Makes as many equal bins as allowed, the outermost centred on the lowest and the highest value. Returns undefined where floating point has no room
 * for them.
 */
function computeFinestBins(distinct: readonly number[]): number[] | undefined {
  const [lowest = 0, highest = 0] = [distinct[0], distinct.at(-1)];
  if (distinct.every(isWhole)) return computeWholeBins(lowest, highest, MOST_BINS);
  const edges = spreadBinsAround(lowest, highest / (MOST_BINS - 1) - lowest / (MOST_BINS - 1), MOST_BINS);
  return edges.length === sortAscending(edges).length ? edges : undefined;
}

/** Returns the edges of bins centred on `lowest`, `lowest + step`, … */
function spreadBinsAround(lowest: number, step: number, bins: number): number[] {
  return Array.from({ length: bins + 1 }, (_, bin) => lowest + (bin - 0.5) * step);
}

/**
 * Computes equal bins with the width of Freedman and Diaconis (1981) or Sturges (1926), whichever is narrower. Each bin covers equally many whole
 * numbers, so that no bin of whole numbers looks empty or full because of its position.
 */
function computeSharedBins(sorted: readonly number[]): number[] {
  const [lowest, highest] = [sorted[0] ?? 0, sorted.at(-1) ?? 0];
  const range = highest - lowest;
  const spread = (2 * (quantileSorted(sorted, 0.75) - quantileSorted(sorted, 0.25))) / Math.cbrt(sorted.length);
  const wanted = Math.max(Math.log2(sorted.length) + 1, spread > 0 ? range / spread : 0);
  const bins = Math.min(MOST_BINS, Math.ceil(wanted));
  if (sorted.every(isWhole)) return computeWholeBins(lowest, highest, bins);
  return sortAscending(Array.from({ length: bins + 1 }, (_, bin) => (bin === bins ? highest : lowest + (range * bin) / bins)));
}

/** Makes at most this many bins, each with the same number of whole numbers. */
function computeWholeBins(lowest: number, highest: number, most: number): number[] {
  const width = Math.ceil((highest - lowest + 1) / most);
  return Array.from({ length: Math.ceil((highest - lowest + 1) / width) + 1 }, (_, bin) => lowest - 0.5 + bin * width);
}

/** Whether a value is whole, and so small that floating point also holds the halves beside it. */
function isWhole(value: number): boolean {
  return Number.isSafeInteger(value) && Number.isSafeInteger(2 * value);
}

/** Removes edges that floating point cannot distinguish from the previous one. */
function sortAscending(edges: readonly number[]): number[] {
  return edges.filter((edge, position) => position === 0 || edge > (edges[position - 1] ?? edge));
}

function measureGaps(distinct: readonly number[]): number[] {
  return distinct.slice(1).map((value, position) => value - (distinct[position] ?? value));
}

function countBetween(edges: readonly number[], sorted: readonly number[]): number[] {
  const counts = Array.from({ length: edges.length - 1 }, () => 0);
  let bin = 0;
  for (const value of sorted) {
    while (bin < counts.length - 1 && value >= (edges[bin + 1] ?? Infinity)) bin += 1;
    counts[bin] = (counts[bin] ?? 0) + 1;
  }
  return counts;
}
