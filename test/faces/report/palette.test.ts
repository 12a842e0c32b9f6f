import { describe, expect, it } from 'vitest';
import { DARK, LIGHT } from '../../../src/faces/report/text/palette.ts';
import type { Palette } from '../../../src/faces/report/text/palette.ts';

/** Relative luminance and contrast as WCAG 2.2 defines them. */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((start) => {
    const channel = Number.parseInt(colour.slice(start, start + 2), 16) / 255;
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(a: string, b: string): number {
  const [lighter = 0, darker = 0] = [luminance(a), luminance(b)].toSorted((x, y) => y - x);
  return (lighter + 0.05) / (darker + 0.05);
}

type Pair = readonly [front: keyof Palette, back: keyof Palette];

const TEXT: readonly Pair[] = [
  ['text', 'page'],
  ['text', 'surface'],
  ['text', 'cautionArea'],
  ['text', 'grid'],
  ['muted', 'page'],
  ['muted', 'surface'],
  ['estimate', 'page'],
  ['estimate', 'surface'],
  ['good', 'goodArea'],
  ['bad', 'badArea'],
  ['caution', 'cautionArea'],
];
const MARKS: readonly Pair[] = [
  ['estimate', 'area'],
  ['target', 'surface'],
  ['target', 'area'],
  ['target', 'targetArea'],
  ['good', 'surface'],
  ['bad', 'surface'],
  ['caution', 'page'],
  ['muted', 'area'],
];

describe.each([
  ['light', LIGHT],
  ['dark', DARK],
] as const)('the %s palette', (_, palette) => {
  it.each(TEXT)('has a contrast of 4.5 for %s on %s', (front, back) => {
    expect(contrast(palette[front], palette[back])).toBeGreaterThanOrEqual(4.5);
  });

  it.each(MARKS)('has a contrast of 3 for marks in %s on %s', (front, back) => {
    expect(contrast(palette[front], palette[back])).toBeGreaterThanOrEqual(3);
  });
});
