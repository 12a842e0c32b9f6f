import { describe, expect, it } from 'vitest';
import {
  count,
  formatQuantity,
  renderDuration,
  renderEnds,
  renderFigure,
  NONE,
  formatPercentage,
  renderShare,
  renderSpreadFigure,
} from '../../../src/faces/report/text/numbers.ts';

const shown = (content: { toString(): string }): string => content.toString().replaceAll(/<[^>]*>/g, '');

describe('a number on the page', () => {
  it('is rounded for people, exact for programs, and names its path in the document', () => {
    expect(renderFigure(0.2730183, 0.0099, 'official.mean').toString()).toBe(
      '<data value="0.2730183" data-source="official.mean">0.2730</data>',
    );
    expect(count(1_234_567).toString()).toBe('<data value="1234567">1,234,567</data>');
  });

  it('that does not exist is a dash', () => {
    expect(renderFigure(null, 1, 'official.mean')).toBe(NONE);
    expect(renderSpreadFigure(undefined)).toBe(NONE);
  });

  it('of an interval has two ends, each with its own source', () => {
    const html = renderEnds({ low: -1.25, high: 3.5 }, 2.4, 'official.interval').toString();
    expect(shown({ toString: () => html })).toBe('[-1.3, 3.5]');
    expect(html).toContain('value="-1.25" data-source="official.interval.low"');
    expect(html).toContain('value="3.5" data-source="official.interval.high"');
  });

  it.each([
    [0.25, '25 %'],
    [1 / 3, '33.33 %'],
    [1e-9, 'below 0.01 %'],
    [0, '0 %'],
    [1 - 1e-9, 'above 99.99 %'],
    [1, '100 %'],
  ])('%s as a share is %s: few are not none, nor most all', (value, text) => {
    expect(shown(renderShare(value))).toBe(text);
  });

  it.each([
    [0.0151, '15.1 ms'],
    [0.4, '400 ms'],
    [1.24, '1.2 s'],
    [503, '8:23'],
    [0, '0.0 s'],
  ])('of %s seconds reads %s', (seconds, text) => {
    expect(shown(renderDuration(seconds))).toBe(text);
  });

  it('of items is singular for one', () => {
    expect([formatQuantity(1, 'episode'), formatQuantity(0, 'episode'), formatQuantity(1200, 'episode')]).toEqual([
      '1 episode',
      '0 episodes',
      '1,200 episodes',
    ]);
  });

  it('of a confidence has as many decimals as it was given', () => {
    expect([formatPercentage(0.95), formatPercentage(0.999), formatPercentage(0.975)]).toEqual(['95 %', '99.9 %', '97.5 %']);
  });
});
