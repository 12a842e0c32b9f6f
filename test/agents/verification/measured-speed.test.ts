import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isMeasured, measureRatio, type Turn } from '../../../src/agents/verification/measured-speed.ts';
import { scoreRatio } from '../../../src/agents/verification/score.ts';

const TERMS = { r0: 0.5, r1: 2, halfWidth: 0.05, pairs: 12 };
const turn = (golden: number, candidate: number): Turn => ({ name: 'one', golden, candidate });
const seconds = fc.double({ min: 1e-4, max: 1e3, noNaN: true });
const turns = fc.array(
  fc.tuple(seconds, seconds).map(([golden, candidate]) => turn(golden, candidate)),
  { minLength: 3, maxLength: 40 },
);

describe('a measured ratio', () => {
  it('is the geometric mean of the turns, with the t-interval of their logarithms at the error of its look', () => {
    const { ratio, low, high } = measureRatio([turn(1, 1), turn(2, 1), turn(4, 1)]);
    expect(ratio).toBeCloseTo(2, 12);
    // t of 2 degrees of freedom at 1 − 0.0125 is 6.2053; the standard error of log 1, log 2 and log 4 is log 2 ÷ √3.
    expect([Math.log(low / 2), Math.log(high / 2)].map((each) => each.toFixed(3))).toEqual(['-2.483', '2.483']);
    expect(() => measureRatio([turn(1, 1), turn(1, 1)])).toThrow('expected at least 3');
  });

  it('is in its interval, does not depend on the unit of time, and inverts with the roles', () => {
    fc.assert(
      fc.property(turns, fc.double({ min: 0.01, max: 100, noNaN: true }), (measured, unit) => {
        const one = measureRatio(measured);
        const scaled = measureRatio(measured.map(({ golden, candidate }) => turn(golden * unit, candidate * unit)));
        const swapped = measureRatio(measured.map(({ golden, candidate }) => turn(candidate, golden)));
        expect(one.low <= one.ratio && one.ratio <= one.high).toBe(true);
        expect(Math.log(scaled.ratio)).toBeCloseTo(Math.log(one.ratio), 6);
        expect(Math.log(swapped.low)).toBeCloseTo(-Math.log(one.high), 6);
      }),
    );
  });
});

describe('measuring', () => {
  it('continues until the interval of the score is narrow enough, or the turns are used up', () => {
    const same = Array.from({ length: 12 }, () => turn(1, 1));
    expect([0, 1, 2, 3].map((count) => isMeasured(same.slice(0, count), TERMS))).toEqual([false, false, false, true]);
    const noisy = Array.from({ length: 12 }, (_, at) => turn(at % 2 === 0 ? 1 : 1.6, 1));
    expect([3, 11, 12].map((count) => isMeasured(noisy.slice(0, count), TERMS))).toEqual([false, false, true]);
    // However noisy: beyond r1 the score is 1 all the same.
    expect(isMeasured([turn(1000, 1), turn(2000, 1), turn(1500, 1)], TERMS)).toBe(true);
  });

  it('never ends before the interval is as narrow as asked, but at the last turn', () => {
    fc.assert(
      fc.property(turns, (measured) => {
        if (!isMeasured(measured, { ...TERMS, pairs: 1000 })) return;
        const { low, high } = measureRatio(measured);
        expect(scoreRatio(high, TERMS) - scoreRatio(low, TERMS)).toBeLessThanOrEqual(2 * TERMS.halfWidth);
      }),
    );
  });
});
