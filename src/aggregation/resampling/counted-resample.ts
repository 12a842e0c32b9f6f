import type { Random } from '../../kernel/seeded-random.ts';

/** Finds the distinct values of an ascending list, ascending: the cells in which a resample is counted. */
export function findDistinctValues(sorted: Float64Array): Float64Array {
  let [count, previous] = [0, Number.NaN];
  const distinct = new Float64Array(sorted.length);
  for (const value of sorted) {
    if (value === previous) continue;
    distinct[count] = value;
    count += 1;
    previous = value;
  }
  return distinct.subarray(0, count);
}

/** Finds the position of each value among the distinct ones, which must include it. @param sorted ascending, and so are the positions. */
export function findCells(sorted: Float64Array, distinct: Float64Array): Uint32Array {
  const cells = new Uint32Array(sorted.length);
  let cell = 0;
  for (let position = 0; position < sorted.length; position += 1) {
    cell = findCell(cell, sorted[position] ?? Number.NaN, distinct);
    cells[position] = cell;
  }
  return cells;
}

/** Doubles the distance to look ahead, then bisects: quick where many values are close and where few are far apart. */
function findCell(start: number, value: number, distinct: Float64Array): number {
  let [low, step] = [start, 1];
  while ((distinct[low + step - 1] ?? Infinity) < value) {
    low += step;
    step *= 2;
  }
  let high = Math.min(low + step, distinct.length) - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((distinct[middle] ?? Infinity) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Draws from the cells with replacement and adds to `counts` how often each was drawn, so that sorted values are sorted only once.
 *
 * One random number gives two draws: among n² equally likely pairs. There are far fewer pairs than the 2⁵³ numbers for any n up to a million.
 */
export function countDraws(random: Random, cells: Uint32Array, draws: number, counts: Uint32Array | Float64Array, weight = 1): void {
  const size = cells.length;
  for (let drawn = 0; drawn < draws; drawn += 2) {
    const pair = Math.floor(random() * size * size);
    const first = Math.floor(pair / size);
    const cell = cells[first] ?? 0;
    counts[cell] = (counts[cell] ?? 0) + weight;
    if (drawn + 1 === draws) return;
    const other = cells[pair - first * size] ?? 0;
    counts[other] = (counts[other] ?? 0) + weight;
  }
}
