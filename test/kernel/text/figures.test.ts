import { describe, expect, it } from 'vitest';
import {
  formatCount,
  formatDuration,
  formatExactBytes,
  formatFigure,
  formatRate,
  formatWaiting,
} from '../../../src/kernel/text/figures.ts';

describe('a figure', () => {
  it.each([
    { value: 498.0048, spread: 9.875, shown: '498.0', because: 'two digits of the spread are 9.9' },
    { value: -160.7312, spread: 10.52, shown: '-160.7', because: 'a spread that begins with a 1 shows three digits' },
    { value: 0.273018, spread: 0.000559, shown: '0.27302', because: 'a small spread needs many decimals' },
    { value: -159.2, spread: 541, shown: '-159', because: 'a large spread leaves no decimals' },
    { value: 1234567.8, spread: 2500, shown: '1,234,568', because: 'thousands are grouped, and never rounded away' },
  ])('$value with a spread of $spread is $shown: $because', ({ value, spread, shown }) => {
    expect(formatFigure(value, spread)).toBe(shown);
  });

  it('that rounds to nothing has no sign', () => {
    expect(formatFigure(-0.0001, 0.5)).toBe('0.00');
  });

  it('that never varied is shown unrounded', () => {
    expect(formatFigure(500, 0)).toBe('500');
    expect(formatFigure(1 / 3, 0)).toBe('0.333333');
  });

  it('of a tiny return is not lost among zeros', () => {
    expect(formatFigure(2.5e-9, 4e-10)).toBe('0.00000000250');
  });
});

describe('a count', () => {
  it('is grouped by thousands', () => {
    expect(formatCount(1_000_000)).toBe('1,000,000');
    expect(formatCount(999)).toBe('999');
    expect([formatWaiting(1), formatWaiting(1200)]).toEqual(['1 request waits', '1,200 requests wait']);
  });
});

describe('a rate', () => {
  it('has decimals only while it is slow', () => {
    expect([0, 0.0349, 0.25, 0.96].map(formatRate)).toEqual(['0', '0.035', '0.25', '1.0']);
    expect(formatRate(99.96)).toBe('100');
    expect(formatRate(12_345.6)).toBe('12,346');
  });
});

describe('a limit in bytes', () => {
  it('is exact, as what exceeds it may do so by little, and has a unit from a kibibyte on', () => {
    expect([1023, 1024, 4_194_305].map(formatExactBytes)).toEqual(['1023 bytes', '1024 bytes (1.0 KiB)', '4194305 bytes (4.0 MiB)']);
  });
});

describe('a duration', () => {
  it.each([
    [0.04, '0.0 s'],
    [9.94, '9.9 s'],
    [12.3, '12 s'],
    [65, '1:05'],
    [3599.6, '1:00:00'],
    [7389, '2:03:09'],
  ])('of %s seconds reads %s', (seconds, shown) => {
    expect(formatDuration(seconds)).toBe(shown);
  });

  it('just short of a boundary is rounded over it, not shown as 10.0 or 60 seconds', () => {
    expect(formatDuration(9.97)).toBe('10 s');
    expect(formatDuration(59.7)).toBe('1:00');
  });
});
