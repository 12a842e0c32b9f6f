import { scaleLinear } from 'd3-scale';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { computeDomain, labelEvery, listTicks } from '../../../src/faces/report/charts/plot.ts';

describe('the stretch of an axis', () => {
  it('holds all values, and a little more at both ends', () => {
    expect(computeDomain([10, 0, 5])).toEqual([-0.5, 10.5]);
  });

  it.each([
    ['a single value', [500], [475, 525]],
    ['nothing but zeros', [0, 0], [-0.05, 0.05]],
  ])('is never empty: %s', (_, values, expected) => {
    expect(computeDomain(values)).toEqual(expected);
  });

  it('does not exist without values, or for values that are too far apart for floating point', () => {
    expect(computeDomain([])).toBeUndefined();
    expect(computeDomain([-1.7e308, 1.7e308])).toBeUndefined();
  });
});

describe('the labels of an axis', () => {
  const ticks = (count: number, text: string) => Array.from({ length: count }, (_, value) => ({ value, text }));

  it.each([
    { count: 6, text: '0.25', every: 2, because: 'six labels and the spaces between them need 30 of 26 characters' },
    { count: 4, text: '0.25', every: 1, because: 'four need 20' },
    { count: 0, text: '', every: 1, because: 'there are none' },
  ])('stand at every tick, or at every $every. one: $because', ({ count, text, every }) => {
    expect(labelEvery(ticks(count, text), 26)).toBe(every);
  });
});

describe('the ticks of an axis', () => {
  const texts = (low: number, high: number, whole = false): string[] =>
    listTicks({ scale: scaleLinear([low, high], [0, 1]), whole }, 5).map(({ text }) => text);

  it('have as many decimals as tell them apart, and grouped thousands', () => {
    expect(texts(-0.1, 0.3)).toEqual(['-0.1', '0.0', '0.1', '0.2', '0.3']);
    expect(texts(0, 2000)).toEqual(['0', '500', '1,000', '1,500', '2,000']);
  });

  it('are whole numbers where things are counted', () => {
    expect(texts(0, 2, true)).toEqual(['0', '1', '2']);
  });

  it('are powers of ten where the numbers would take all the room', () => {
    expect(texts(0, 4e12)).toEqual(['0e+0', '1e+12', '2e+12', '3e+12', '4e+12']);
    expect(texts(0, 4e-9)).toEqual(['0e+0', '1e-9', '2e-9', '3e-9', '4e-9']);
  });

  it('differ from each other and stay short, if the axis is no shorter than a billionth of its values', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, min: -1e9, max: 1e9 }), fc.double({ noNaN: true, min: 1e-12, max: 1e12 }), (low, length) => {
        fc.pre(length > Math.abs(low) * 1e-9);
        const shown = texts(low, low + length);
        expect(new Set(shown).size).toBe(shown.length);
        expect(Math.max(...shown.map((text) => text.length))).toBeLessThanOrEqual(24);
      }),
    );
  });
});
