import { quantileSorted } from 'simple-statistics';
import type { Histogram } from './statistics.ts';

const MOST_BINS = 40;
/** As a share of what is measured: how far from its place a value may be for rounding to be the reason. */
const ROUNDING = 1e-6;

/**
 * Counts in at most 40 bins, each from its lower edge to below its upper one. Up to 40 distinct values have a bin each, around them; more share
 * bins of equal width. Undefined without values, or where floating point cannot hold the edges.
 *
 * @param sorted ascending.
 */
export function histogram(sorted: readonly number[]): Histogram | undefined {
  if (sorted.length === 0) return undefined;
  const edges = edgesFor(sorted);
  return edges.every(Number.isFinite) ? { edges, counts: countsBetween(edges, sorted) } : undefined;
}

function edgesFor(sorted: readonly number[]): number[] {
  const distinct = fewDistinct(sorted);
  if (distinct === undefined) return sharedBins(sorted);
  return distinct.length === 1 ? onlyBin(distinct) : (evenBins(distinct) ?? ownBins(distinct));
}

/** Undefined when there are more than bins. */
function fewDistinct(sorted: readonly number[]): readonly number[] | undefined {
  const distinct: number[] = [];
  for (const value of sorted) {
    if (value === distinct.at(-1)) continue;
    if (distinct.length === MOST_BINS) return undefined;
    distinct.push(value);
  }
  return distinct;
}

/** One wide, or as much wider as floating point needs to tell the edges apart. */
function onlyBin([value = 0]: readonly number[]): number[] {
  const reach = Math.max(0.5, Math.abs(value) * ROUNDING);
  return [value - reach, value + reach];
}

/** For values that lie whole steps apart: a bin for every step, those without a value among them. Undefined when these are too many. */
function evenBins(distinct: readonly number[]): number[] | undefined {
  const [lowest = 0] = distinct;
  const step = Math.min(...gaps(distinct));
  const places = distinct.map((value) => (value - lowest) / step);
  if (!places.every((place) => place < MOST_BINS - 0.5 && Math.abs(place - Math.round(place)) < ROUNDING)) return undefined;
  const bins = Math.round(places.at(-1) ?? 0) + 1;
  const edges = Array.from({ length: bins + 1 }, (_, bin) => lowest + (bin - 0.5) * step);
  // Next to each other in floating point, values have nothing between them.
  return edges.length === ascending(edges).length ? edges : undefined;
}

/** Edges halfway between neighbours, the outermost as far from their values as the next ones. */
function ownBins(distinct: readonly number[]): number[] {
  const between = distinct.slice(1).map((value, position) => {
    const below = distinct[position] ?? value;
    const middle = below / 2 + value / 2;
    return middle > below ? middle : value;
  });
  const [lowest = 0, second = 0, highest = 0] = [distinct[0], distinct.at(-2), distinct.at(-1)];
  const last = between.at(-1) ?? 0;
  return [2 * lowest - (between[0] ?? 0), ...between, 2 * highest - (last < highest ? last : second)];
}

/**
 * Equal bins, as wide as Freedman and Diaconis (1981) or Sturges (1926) would have them, whichever is narrower. Of whole numbers each bin has equally
 * many, so that none looks empty or full for its place only.
 */
function sharedBins(sorted: readonly number[]): number[] {
  const [lowest, highest] = [sorted[0] ?? 0, sorted.at(-1) ?? 0];
  const range = highest - lowest;
  const spread = (2 * (quantileSorted(sorted, 0.75) - quantileSorted(sorted, 0.25))) / Math.cbrt(sorted.length);
  const wanted = Math.max(Math.log2(sorted.length) + 1, spread > 0 ? range / spread : 0);
  const bins = Math.min(MOST_BINS, Math.ceil(wanted));
  if (!sorted.every((value) => Number.isSafeInteger(2 * value)))
    return ascending(Array.from({ length: bins + 1 }, (_, bin) => (bin === bins ? highest : lowest + (range * bin) / bins)));
  const width = Math.ceil((range + 1) / bins);
  return Array.from({ length: Math.ceil((range + 1) / width) + 1 }, (_, bin) => lowest - 0.5 + bin * width);
}

/** Without those that floating point cannot tell from the one before. */
function ascending(edges: readonly number[]): number[] {
  return edges.filter((edge, position) => position === 0 || edge > (edges[position - 1] ?? edge));
}

function gaps(distinct: readonly number[]): number[] {
  return distinct.slice(1).map((value, position) => value - (distinct[position] ?? value));
}

function countsBetween(edges: readonly number[], sorted: readonly number[]): number[] {
  const counts = Array.from({ length: edges.length - 1 }, () => 0);
  let bin = 0;
  for (const value of sorted) {
    while (bin < counts.length - 1 && value >= (edges[bin + 1] ?? Infinity)) bin += 1;
    counts[bin] = (counts[bin] ?? 0) + 1;
  }
  return counts;
}
