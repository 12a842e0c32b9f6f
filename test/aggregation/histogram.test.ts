import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { computeHistogram } from '../../src/aggregation/results/histogram.ts';

const of = (values: readonly number[]): ReturnType<typeof computeHistogram> => computeHistogram(values.toSorted((a, b) => a - b));
const repeated = (value: number, times: number): number[] => Array.from({ length: times }, () => value);

const values = fc.oneof(
  fc.array(fc.integer({ min: -3, max: 3 }), { minLength: 1 }),
  fc.array(fc.integer({ min: -1000, max: 1000 }), { minLength: 1, maxLength: 300 }),
  fc.array(fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9 }), { minLength: 1, maxLength: 300 }),
  // Next to each other in floating point.
  fc
    .tuple(fc.double({ noNaN: true, min: 0.5, max: 1e9 }), fc.array(fc.integer({ min: 0, max: 60 }), { minLength: 1, maxLength: 100 }))
    .map(([value, steps]) => steps.map((step) => value + step * Number.EPSILON * 2 ** Math.floor(Math.log2(value)))),
);

test('every value is in one of at most 40 bins, from its lower edge to below its upper one', () => {
  fc.assert(
    fc.property(values, (given) => {
      const { edges, counts } = of(given) ?? { edges: [], counts: [] };
      expect(edges.length).toBe(counts.length + 1);
      expect(counts.length).toBeGreaterThan(0);
      expect(counts.length).toBeLessThanOrEqual(40);
      for (const [position, edge] of edges.slice(1).entries()) expect(edge).toBeGreaterThan(edges[position] ?? Infinity);
      const within = counts.map((_, bin) => {
        const [low = 0, high = 0] = edges.slice(bin);
        return given.filter((value) => value >= low && (value < high || (bin === counts.length - 1 && value === high))).length;
      });
      expect(counts).toEqual(within);
      expect(counts.reduce((sum, count) => sum + count, 0)).toBe(given.length);
    }),
  );
});

test('all bins are equally wide', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ noNaN: true, min: -1e6, max: 1e6 }), { minLength: 2, maxLength: 100 }), (given) => {
      fc.pre(Math.max(...given) - Math.min(...given) > 1e-3);
      const { edges } = of(given) ?? { edges: [] };
      const widths = edges.slice(1).map((edge, bin) => edge - (edges[bin] ?? 0));
      expect(Math.max(...widths) - Math.min(...widths)).toBeLessThan(1e-6 * Math.max(...widths) + 1e-9);
    }),
  );
});

test('successes and failures are two bars', () => {
  expect(of([...repeated(0, 3), ...repeated(1, 7)])).toEqual({ edges: [-0.5, 0.5, 1.5], counts: [3, 7] });
});

test('whole steps have a bin each, also those that did not come up', () => {
  expect(of([2, 3, 3, 6])).toEqual({ edges: [1.5, 2.5, 3.5, 4.5, 5.5, 6.5], counts: [1, 2, 0, 0, 1] });
  expect(of([-100, 100, 300])).toEqual({ edges: [-200, 0, 200, 400], counts: [1, 1, 1] });
  expect(of([0.1, 0.2, 0.3, 0.6])?.counts).toEqual([1, 1, 1, 0, 0, 1]);
});

test('a few uneven values are in the finest bins, the lowest and the highest in the middle of theirs', () => {
  const { edges, counts } = of([0.5, 1.25, 390.5, 390.5]) ?? { edges: [], counts: [] };
  expect(edges).toEqual(Array.from({ length: 41 }, (_, bin) => -4.5 + 10 * bin));
  expect(counts).toEqual([2, ...repeated(0, 38), 2]);
  expect(of([9, 10, 500, 500])?.counts).toEqual([2, ...repeated(0, 36), 2]);
});

test('a single value has a bin around it, however large it is', () => {
  expect(of([5, 5])).toEqual({ edges: [4.5, 5.5], counts: [2] });
  expect(of([1e15])).toEqual({ edges: [1e15 - 1e9, 1e15 + 1e9], counts: [1] });
});

test('with many whole numbers each bin has equally many', () => {
  const lengths = Array.from({ length: 5000 }, (_, position) => 9 + ((position * 37) % 192));
  const { edges, counts } = of(lengths) ?? { edges: [], counts: [] };
  const widths = new Set(edges.slice(1).map((edge, bin) => edge - (edges[bin] ?? 0)));
  expect(edges[0]).toBe(8.5);
  expect([...widths]).toEqual([12]);
  expect(counts).toHaveLength(16);
});

// References: NumPy's np.histogram_bin_edges(values, "auto"), which follows the same two rules.
test('many other values have as many bins as Freedman and Diaconis or Sturges give', () => {
  const even = Array.from({ length: 1000 }, (_, position) => (position + 0.25) / 1000);
  expect(of(even)?.counts).toHaveLength(11);
  const skewed = Array.from({ length: 400 }, (_, position) => ((position + 0.5) / 400) ** 3);
  expect(of(skewed)?.counts).toHaveLength(10);
});

test('Sturges decides when most values are equal, because the middle half has no width', () => {
  const onePeak = [...repeated(500, 3900), ...Array.from({ length: 100 }, (_, position) => position * 4.01)];
  expect(of(onePeak)?.counts).toHaveLength(13);
});

test('an offset moves the bins, and the counts stay', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: -500, max: 500 }), { minLength: 1, maxLength: 200 }),
      fc.constantFrom(1024, -4096),
      (given, offset) => {
        const [plain, moved] = [of(given), of(given.map((value) => value + offset))];
        fc.pre(new Set(given).size > 1);
        expect(moved?.counts).toEqual(plain?.counts);
        expect(moved?.edges).toEqual(plain?.edges.map((edge) => edge + offset));
      },
    ),
  );
});

test('no values, and values too close for edges, have no histogram', () => {
  expect(computeHistogram([])).toBeUndefined();
  expect(of([-1.7e308, 1.7e308])).toBeUndefined();
});
